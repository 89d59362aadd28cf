package redisqueue

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
)

//go:embed scripts/*.lua
var sources embed.FS

func loadScript(name string) (*rueidis.Lua, error) {
	text, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		return nil, fmt.Errorf("load a script: %w", err)
	}
	return rueidis.NewLuaScript(string(text)), nil
}

// writerMemory is how long Redis remembers the letters of a process.
const writerMemory = 7 * 24 * time.Hour

var errRejected = errors.New("the breaker around writes of dead letters is open")

// send writes letters to their lists and returns how many from the first on are finished. After an error, later letters
// may have arrived too; sent again, they are recognised. The caller holds order.
func (d *DeadLetters) send(letters []*letter, outcomes []outcome) (n int, err error) {
	for n < len(letters) {
		end := n + 1
		for end < len(letters) && letters[end].sameRun(letters[n]) {
			end++
		}
		permit, ok := d.breaker.Allow()
		if !ok {
			return n, errRejected
		}
		done, err := d.sendRun(letters[n:end], outcomes[n:end])
		permit.Done(err == nil)
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (d *DeadLetters) sendRun(letters []*letter, outcomes []outcome) (n int, err error) {
	first := letters[0]
	// The spool may have letters from before the server was a cluster.
	if err := redislist.CheckKeys(d.o.Client, first.queue); err != nil {
		return 0, fmt.Errorf("write dead letters to %s: %w", DLQName(first.queue), err)
	}
	beside := "tasker:" + redislist.Tagged(first.queue)
	keys := []string{DLQName(first.queue), beside + ":letters:" + first.writer,
		redislist.Processing(first.queue, first.consumer), redislist.Gone(first.queue)}
	args := make([]string, 0, 3+3*len(letters))
	args = append(args, strconv.FormatInt(d.o.MaxLength, 10), strconv.FormatInt(writerMemory.Milliseconds(), 10),
		first.consumer)
	for _, l := range letters {
		args = append(args, strconv.FormatUint(l.number, 10), rueidis.BinaryString(l.job), rueidis.BinaryString(l.body))
	}
	// Not the context of a caller: letters of many callers go together.
	ctx, cancel := context.WithTimeout(context.Background(), d.o.Timeout)
	defer cancel()
	results, err := d.script.Exec(ctx, d.o.Client, keys, args).AsIntSlice()
	if err == nil && len(results) != len(letters) {
		err = fmt.Errorf("%d answers for %d letters", len(results), len(letters))
	}
	if err != nil {
		return 0, fmt.Errorf("write dead letters to %s: %w", keys[0], err)
	}
	for i, r := range results {
		switch r {
		case 0, 1:
			outcomes[i] = stored
			d.written.Add(1)
		case 2:
			outcomes[i] = superseded
			d.superseded.Add(1)
		default:
			return i, fmt.Errorf("write dead letters to %s: %w", keys[0], errDLQFull)
		}
	}
	return len(letters), nil
}

package redislist

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed scripts/*.lua
var sources embed.FS

// scripts are sent by checksum, and in full where the server lacks them.
type scripts struct{ take, ack, release, beat, silent, takeOver, leave *rueidis.Lua }

func load() (*scripts, error) {
	var s scripts
	for name, into := range map[string]**rueidis.Lua{"take": &s.take, "ack": &s.ack, "release": &s.release,
		"beat": &s.beat, "silent": &s.silent, "takeover": &s.takeOver, "leave": &s.leave} {
		text, err := sources.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("load a script: %w", err)
		}
		*into = rueidis.NewLuaScript(string(text))
	}
	return &s, nil
}

// ErrTakenOver reports that the consumer was silent for longer than the lease, and that its entries were moved back to
// the queue. It continues under a new ID.
var ErrTakenOver = errors.New("the entries of the consumer were moved back to the queue, because it was silent")

const (
	// DefaultLease is the default of Options.Lease.
	DefaultLease = 30 * time.Second
	retention    = 24 * time.Hour
	// atOnce bounds the entries that one script moves, as it blocks Redis.
	atOnce = 1000
)

// Options are the settings of a List.
type Options struct {
	// HeadRight: the next entry is at the right end, as with LPUSH. Otherwise it is at the left end.
	HeadRight bool
	// Lease is how long a consumer may be silent before its entries are moved back. Defaults to DefaultLease.
	Lease time.Duration
}

// List is a queue in a Redis list. It is safe for concurrent use, and never retries: after an error that is not the
// server's, the verb may have taken effect.
type List struct {
	client  rueidis.Client
	queue   string
	lease   time.Duration
	head    string // LEFT or RIGHT
	push    string // LPUSH or RPUSH, to the head
	scripts *scripts
}

// New returns the List of a queue on a client, which stays the caller's. It connects to nothing.
func New(client rueidis.Client, queue string, o Options) (*List, error) {
	if err := CheckKeys(client, queue); err != nil {
		return nil, err
	}
	s, err := load()
	if err != nil {
		return nil, err
	}
	l := &List{client: client, queue: queue, lease: o.Lease, head: "LEFT", push: "LPUSH", scripts: s}
	if l.lease <= 0 {
		l.lease = DefaultLease
	}
	if o.HeadRight {
		l.head, l.push = "RIGHT", "RPUSH"
	}
	return l, nil
}

// Queue returns the name of the queue.
func (l *List) Queue() string { return l.queue }

// Take moves up to max entries, and about maxBytes but at least one, into the list of a consumer, and returns them, the
// oldest first. It registers the consumer and does not block.
//
// After an error that is not the server's, the consumer's list may have unknown entries: see Held.
func (l *List) Take(ctx context.Context, id string, max, maxBytes int) ([]string, error) {
	keys := []string{l.queue, Processing(l.queue, id), Consumers(l.queue), Gone(l.queue)}
	out, err := l.scripts.take.Exec(ctx, l.client, keys,
		[]string{id, strconv.Itoa(max), strconv.Itoa(maxBytes), l.head}).AsStrSlice()
	if err != nil {
		return nil, wrap("take from", l.queue, err)
	}
	return out, nil
}

// Wait blocks for at most d, in milliseconds, until there is an entry, moves it into the list of the consumer and
// returns it; ok is false without one. d is positive and, with the time between two beats, shorter than the lease:
// otherwise the move could follow a takeover. Unlike Take it does not register.
func (l *List) Wait(ctx context.Context, id string, d time.Duration) (entry string, ok bool, err error) {
	seconds := max(d.Round(time.Millisecond), time.Millisecond).Seconds()
	words := l.client.B().Arbitrary("BLMOVE").Keys(l.queue, Processing(l.queue, id)).
		Args(l.head, "RIGHT", strconv.FormatFloat(seconds, 'f', 3, 64))
	entry, err = l.client.Do(ctx, words.Blocking()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return "", false, nil
	case err != nil:
		return "", false, wrap("wait for", l.queue, err)
	}
	return entry, true, nil
}

// Ack removes entries from the list of a consumer and returns how many were there. A missing one was acknowledged
// before, or moved back. newest searches from the newest entry, which is faster for recent ones.
func (l *List) Ack(ctx context.Context, id string, entries []string, newest bool) (removed int64, err error) {
	from := "1"
	if newest {
		from = "-1"
	}
	err = chunks(entries, func(some []string) error {
		n, err := l.scripts.ack.Exec(ctx, l.client, []string{Processing(l.queue, id)},
			append([]string{from}, some...)).AsInt64()
		removed += n
		return err
	})
	return removed, wrap("acknowledge in", l.queue, err)
}

// Release moves entries of a consumer back to the head of the queue, in order, and returns how many were there.
func (l *List) Release(ctx context.Context, id string, entries []string) (released int64, err error) {
	// From the last: each chunk goes before the one pushed already.
	for len(entries) > 0 {
		from := max(0, len(entries)-atOnce)
		n, err := l.scripts.release.Exec(ctx, l.client, []string{l.queue, Processing(l.queue, id)},
			append([]string{l.push}, entries[from:]...)).AsInt64()
		if err != nil {
			return released, wrap("release to", l.queue, err)
		}
		released += n
		entries = entries[:from]
	}
	return released, nil
}

// Beat records that a consumer lives, and returns how many entries are in its list.
func (l *List) Beat(ctx context.Context, id string) (held int64, err error) {
	held, err = l.scripts.beat.Exec(ctx, l.client,
		[]string{Processing(l.queue, id), Consumers(l.queue), Gone(l.queue)}, []string{id}).AsInt64()
	return held, wrap("beat at", l.queue, err)
}

// Held returns the list of a consumer, the oldest first. After a failed Take or Wait a consumer compares it with its
// own, and releases the rest.
func (l *List) Held(ctx context.Context, id string) ([]string, error) {
	key := Processing(l.queue, id)
	out, err := l.client.Do(ctx, l.client.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice()
	return out, wrap("read", key, err)
}

// Leave forgets a consumer that stops. One with entries stays until the end of its lease; Leave returns their number.
func (l *List) Leave(ctx context.Context, id string) (held int64, err error) {
	held, err = l.scripts.leave.Exec(ctx, l.client,
		[]string{Processing(l.queue, id), Consumers(l.queue), Gone(l.queue)}, []string{id}).AsInt64()
	return held, wrap("leave", l.queue, err)
}

// TakeOver moves the entries of consumers that were silent for longer than the lease back to the head of the queue, and
// returns how many. Concurrent calls are safe.
func (l *List) TakeOver(ctx context.Context) (moved int64, err error) {
	lease, keep := ms(l.lease), ms(max(retention, 2*l.lease))
	silent, err := l.scripts.silent.Exec(ctx, l.client, []string{Consumers(l.queue)}, []string{lease, keep}).AsStrSlice()
	if err != nil {
		return 0, wrap("look for silent consumers of", l.queue, err)
	}
	for _, id := range silent {
		keys := []string{l.queue, Processing(l.queue, id), Consumers(l.queue), Gone(l.queue)}
		for {
			n, err := l.scripts.takeOver.Exec(ctx, l.client, keys,
				[]string{id, lease, keep, strconv.Itoa(atOnce), l.head}).AsInt64()
			if err != nil {
				return moved, wrap("take over in", l.queue, err)
			}
			moved += max(n, 0)
			if n < atOnce {
				break
			}
		}
	}
	return moved, nil
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func chunks(list []string, do func([]string) error) error {
	for len(list) > 0 {
		n := min(len(list), atOnce)
		if err := do(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func wrap(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(answer.Error(), "TAKENOVER") {
		return ErrTakenOver
	}
	return fmt.Errorf("%s %s: %w", verb, name, err)
}

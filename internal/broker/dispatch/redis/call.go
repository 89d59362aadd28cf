package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
	"github.com/taskerhq/tasker/internal/engine"
)

const (
	// batch is the number of steps in one run of a script. A run of this size blocks Redis for a few milliseconds.
	batch = 1000
	// window is the number of concurrent runs; each window has the time of a call.
	window = 16
)

func (d *Dispatcher) call(ctx context.Context, verb string, script *rueidis.Lua,
	args ...string,
) (rueidis.RedisMessage, error) {
	answers, err := d.calls(ctx, verb, script, [][]string{args})
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	return answers[0], nil
}

// calls runs a script many times, in order, and returns its answers; engine.ErrDispatchLost if the content is of
// another epoch. After any other error some runs may have taken effect. verb names the work in errors.
func (d *Dispatcher) calls(ctx context.Context, verb string, script *rueidis.Lua,
	runs [][]string,
) ([]rueidis.RedisMessage, error) {
	epoch := d.believed()
	answers := make([]rueidis.RedisMessage, 0, len(runs))
	for len(runs) > 0 {
		some := runs[:min(len(runs), window)]
		runs = runs[len(some):]
		list, err := d.ask(ctx, script, epoch, some)
		if err == nil {
			// After the answers: they may have come over a new connection.
			err = d.verify(ctx)
		}
		if errors.Is(err, engine.ErrDispatchLost) {
			d.disbelieve(epoch)
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s in Redis: %w", verb, err)
		}
		answers = append(answers, list...)
	}
	return answers, nil
}

func (d *Dispatcher) ask(ctx context.Context, script *rueidis.Lua, epoch string,
	runs [][]string,
) ([]rueidis.RedisMessage, error) {
	client, err := d.connected()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	var results []rueidis.RedisResult
	if len(runs) == 1 {
		results = []rueidis.RedisResult{script.Exec(ctx, client, d.keys, append([]string{epoch}, runs[0]...))}
	} else {
		multi := make([]rueidis.LuaExec, len(runs))
		for i, args := range runs {
			multi[i] = rueidis.LuaExec{Keys: d.keys, Args: append([]string{epoch}, args...)}
		}
		results = script.ExecMulti(ctx, client, multi...)
	}
	answers := make([]rueidis.RedisMessage, len(results))
	for i, r := range results {
		if answers[i], err = r.ToMessage(); err != nil && !rueidis.IsRedisNil(err) {
			return nil, lostOr(err)
		}
	}
	return answers, nil
}

func lostOr(err error) error {
	if answer, ok := rueidis.IsRedisErr(err); ok && strings.Contains(answer.Error(), "TASKERLOST") {
		return engine.ErrDispatchLost
	}
	return err
}

// refused reports a permanent error of a reachable server: no access, or unsuitable.
func refused(err error) bool {
	if errors.Is(err, errEvicts) {
		return true
	}
	answer, ok := rueidis.IsRedisErr(err)
	if !ok {
		return false
	}
	for _, code := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "ERR"} {
		if strings.HasPrefix(answer.Error(), code) {
			return true
		}
	}
	return false
}

//go:embed scripts/*.lua
var sources embed.FS

// scripts are called by checksum, and sent in full only to a server that lacks them.
type scripts struct {
	offer, claim, start, renew, find, heldBy, held, expired, remove, missing, depth, waiting, reload, loaded,
	check *rueidis.Lua
}

// loadScripts reads the embedded scripts, each behind the prelude, which defines layout and helpers. An error means a
// binary without its scripts.
func loadScripts() (*scripts, error) {
	var s scripts
	for name, into := range map[string]**rueidis.Lua{
		"offer": &s.offer, "claim": &s.claim, "start": &s.start, "renew": &s.renew, "find": &s.find, "heldby": &s.heldBy,
		"held":    &s.held,
		"expired": &s.expired, "remove": &s.remove, "missing": &s.missing, "depth": &s.depth, "waiting": &s.waiting,
		"reload": &s.reload, "loaded": &s.loaded, "check": &s.check,
	} {
		body, err := sources.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("load a script: %w", err)
		}
		prelude, err := sources.ReadFile("scripts/prelude.lua")
		if err != nil {
			return nil, fmt.Errorf("load a script: %w", err)
		}
		*into = rueidis.NewLuaScript(string(prelude) + string(body))
	}
	return &s, nil
}

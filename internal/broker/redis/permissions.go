package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

var allowedScript = script("allowed")

// command is a command that a driver runs, with the words that make it one. on is the key that it needs.
type command struct {
	words []string
	on    string
}

// name is how an operator grants a command: the first word, or the first two of one that has subcommands.
func (c command) name() string {
	if c.words[0] == "XINFO" || c.words[0] == "XGROUP" {
		return c.words[0] + "|" + c.words[1]
	}
	return c.words[0]
}

// on returns commands on a key. In each of them KEY stands for it.
func on(key string, texts ...string) []command {
	out := make([]command, len(texts))
	for i, text := range texts {
		words := strings.Fields(text)
		for at, w := range words {
			if w == "KEY" {
				words[at] = key
			}
		}
		out[i] = command{words, key}
	}
	return out
}

// needed returns the commands that reading a queue and sending to targets take. docs/guides/redis.md lists them too,
// and a test compares.
func (i *Inspector) needed(queue string, targets []string) []command {
	out := on("", "PING", "EVAL script 0", "EVALSHA 0123456789012345678901234567890123456789 0", "TIME")
	if i.list {
		pop, push := "LPOP KEY", "LPUSH KEY x"
		if i.opts.head == "RIGHT" {
			pop, push = "RPOP KEY", "RPUSH KEY x"
		}
		out = slices.Concat(out,
			on(queue, "LLEN KEY", "LRANGE KEY 0 0", "BLMOVE KEY KEY LEFT LEFT 1", pop, push),
			on(key(queue, "receivers"), "ZADD KEY 1 x", "ZREM KEY x", "ZSCORE KEY x", "ZRANGEBYSCORE KEY -inf 0"),
			on(key(queue, "held:x"), "HSET KEY x x", "HGET KEY x", "HKEYS KEY", "HDEL KEY x", "EXISTS KEY"),
			on(key(queue, "oversized"), "HSET KEY x x", "HGET KEY x", "HKEYS KEY", "HDEL KEY x"))
	} else {
		out = slices.Concat(out,
			on(queue, "EXISTS KEY", "XLEN KEY", "XRANGE KEY - +", "XREAD COUNT 1 STREAMS KEY 0",
				"XREADGROUP GROUP x x COUNT 1 STREAMS KEY >", "XPENDING KEY x - + 1", "XCLAIM KEY x x 0 0-0", "XACK KEY x 0-0",
				"XINFO STREAM KEY", "XINFO GROUPS KEY", "XINFO CONSUMERS KEY x", "XGROUP CREATE KEY x 0",
				"XGROUP DELCONSUMER KEY x x"))
		if i.opts.remove {
			out = append(out, on(queue, "XDEL KEY 0-0")...)
		}
	}
	for _, target := range targets {
		out = slices.Concat(out, i.sending(target))
	}
	return out
}

// sending returns the commands that sending to a target takes.
func (i *Inspector) sending(target string) []command {
	marks := on(key(target, "sent"), "ZADD KEY NX 1 x", "ZREM KEY x", "ZREMRANGEBYSCORE KEY -inf 0", "PEXPIRE KEY 1")
	switch {
	case !i.list:
		return append(on(target, "EXISTS KEY", "XLEN KEY", "XINFO GROUPS KEY", "XADD KEY * x x"), marks...)
	case i.opts.head == "RIGHT":
		return append(on(target, "LLEN KEY", "LPUSH KEY x"), marks...)
	}
	return append(on(target, "LLEN KEY", "RPUSH KEY x"), marks...)
}

// Missing returns the commands that the user may not run although reading the queue and sending to the targets need
// them, as "COMMAND" or "COMMAND on KEY". The error says that the server does not tell: it is older than Redis 7, or
// refuses scripts.
func (i *Inspector) Missing(ctx context.Context, queue string, targets []string) ([]string, error) {
	needed := i.needed(queue, targets)
	var args []string
	for _, c := range needed {
		args = append(append(args, strconv.Itoa(len(c.words))), c.words...)
	}
	ctx, cancel := context.WithTimeout(ctx, i.opts.timeout)
	defer cancel()
	// Without keys: those of the queue might be refused.
	allowed, err := allowedScript.Exec(ctx, i.client, nil, args).AsIntSlice()
	if err != nil {
		return nil, driver.Hide(classify(err), i.url)
	}
	var out []string
	for at, yes := range allowed {
		text := needed[at].name()
		if needed[at].on != "" {
			text += " on " + needed[at].on
		}
		if yes == 0 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/redislist"
)

// Inspector looks at a server and at the queues of one source on it, for an operator. It changes nothing, and waits for
// each answer as long as the URL says.
type Inspector struct {
	*conn
	url  string
	list bool
}

// NewInspector connects to the server of a URL, as the driver of lists or streams does. The caller closes it. No error
// shows secrets of the URL.
func NewInspector(url string, list bool) (*Inspector, error) {
	c, err := connect(url, list)
	if err != nil {
		return nil, driver.Hide(err, url)
	}
	return &Inspector{c, url, list}, nil
}

// Server is the state of a server.
type Server struct {
	Address, Version string
	// Replica: it cannot be written to.
	Replica         bool
	Policy          string
	Used, MaxMemory int64 // bytes; MaxMemory is 0 without a limit
	// AOF: changes are logged. SaveFails, AOFFails: the last snapshot, or write of the log, has failed.
	AOF, SaveFails, AOFFails bool
	// when snapshots are made, "" for never
	Snapshots string
	// Unseen and UnseenConfig are why INFO and CONFIG GET are refused: then all of the above, or Snapshots, is unknown.
	Unseen, UnseenConfig error
}

// Servers looks at the server, or at the masters of a cluster. The error names one that does not answer.
func (i *Inspector) Servers(ctx context.Context) ([]Server, error) {
	var out []Server
	for address, node := range i.client.Nodes() {
		s, err := i.server(ctx, address, node)
		if err != nil {
			return nil, driver.Hide(err, i.url)
		}
		if s.Replica && i.client.Mode() == rueidis.ClientModeCluster {
			continue // its master is asked
		}
		out = append(out, s)
	}
	return out, nil
}

func (i *Inspector) server(ctx context.Context, address string, node rueidis.Client) (Server, error) {
	s := Server{Address: address}
	question := func(words ...string) rueidis.RedisResult {
		ctx, cancel := context.WithTimeout(ctx, i.opts.timeout)
		defer cancel()
		return node.Do(ctx, node.B().Arbitrary(words...).Build())
	}
	text, err := question("INFO").ToString()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return s, classify(err)
	}
	if s.Unseen = err; err == nil {
		s.read(text)
	}
	config, err := question("CONFIG", "GET", "save").AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return s, classify(err)
	}
	s.Snapshots, s.UnseenConfig = config["save"], err
	return s, nil
}

func (s *Server) read(text string) {
	of := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			of[name] = value
		}
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(of[name], 10, 64) // a missing number is 0
		return n
	}
	s.Version = of["redis_version"]
	s.Replica = of["role"] == "slave"
	s.Policy, s.Used, s.MaxMemory = of["maxmemory_policy"], number("used_memory"), number("maxmemory")
	s.AOF = of["aof_enabled"] == "1"
	s.SaveFails, s.AOFFails = of["rdb_last_bgsave_status"] == "err", of["aof_last_write_status"] == "err"
}

// Holder holds messages of a queue, or jobs, and is gone.
type Holder struct {
	Key     string
	ID      string
	Held    int64
	Silence time.Duration // since it counts as gone; 0 if unknown
}

const holdersAtOnce = 100

// Holders returns silent readers of the queue with messages: nobody took over.
func (i *Inspector) Holders(ctx context.Context, queue string, silence time.Duration) ([]Holder, error) {
	var out []Holder
	var err error
	if i.list {
		held := func(id string) string { return key(queue, "held:"+id) }
		out, err = i.silent(ctx, key(queue, "receivers"), silence, held, i.holds)
	} else {
		out, err = i.pending(ctx, queue, silence)
	}
	return out, driver.Hide(err, i.url)
}

// holds counts what a receiver of a list holds, by its key. The permissions of users do not include HLEN.
func (c *conn) holds(ctx context.Context, key string) (int64, error) {
	ids, err := ask(ctx, c, c.client.B().Hkeys().Key(key).Build(), rueidis.RedisResult.AsStrSlice)
	return int64(len(ids)), err
}

// Consumers returns silent consumers of a list in applications (package redisqueue) with jobs: no other consumer gave
// them back.
func (i *Inspector) Consumers(ctx context.Context, queue string, silence time.Duration) ([]Holder, error) {
	if redislist.CheckName(queue) != nil {
		return nil, nil
	}
	held := func(id string) string { return redislist.Processing(queue, id) }
	out, err := i.silent(ctx, redislist.Consumers(queue), silence, held,
		func(ctx context.Context, of string) (int64, error) {
			return ask(ctx, i.conn, i.client.B().Llen().Key(of).Build(), rueidis.RedisResult.AsInt64)
		})
	return out, driver.Hide(err, i.url)
}

func (i *Inspector) silent(ctx context.Context, members string, silence time.Duration, held func(id string) string,
	count func(ctx context.Context, key string) (int64, error),
) ([]Holder, error) {
	parts, err := ask(ctx, i.conn, i.client.B().Time().Build(), rueidis.RedisResult.AsIntSlice)
	if err != nil || len(parts) != 2 {
		return nil, err
	}
	now := time.Unix(parts[0], parts[1]*1000)
	until := strconv.FormatInt(now.Add(-silence).UnixMilli(), 10)
	scores, err := ask(ctx, i.conn, i.client.B().Zrangebyscore().Key(members).Min("-inf").Max(until).Withscores().
		Limit(0, holdersAtOnce).Build(), rueidis.RedisResult.AsZScores)
	if err != nil {
		return nil, err
	}
	var out []Holder
	for _, s := range scores {
		h := Holder{Key: held(s.Member), ID: s.Member}
		if s.Score > 0 {
			h.Silence = now.Sub(time.UnixMilli(int64(s.Score)))
		}
		if h.Held, err = count(ctx, h.Key); err != nil {
			return nil, err
		}
		if h.Held > 0 {
			out = append(out, h)
		}
	}
	return out, nil
}

// pending returns the consumers of our group with entries taken longer ago than silence. A living consumer takes its
// entries again every few seconds.
func (i *Inspector) pending(ctx context.Context, queue string, silence time.Duration) ([]Holder, error) {
	entries, err := ask(ctx, i.conn, i.client.B().Xpending().Key(queue).Group(i.opts.group).
		Idle(silence.Milliseconds()).Start("-").End("+").Count(10_000).Build(), rueidis.RedisResult.ToArray)
	if err != nil && strings.Contains(err.Error(), "NOGROUP") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Holder
	for _, e := range entries {
		parts, err := e.ToArray()
		if err != nil || len(parts) < 3 {
			return nil, err
		}
		id, _ := parts[1].ToString()
		idle, _ := parts[2].AsInt64()
		n := slices.IndexFunc(out, func(h Holder) bool { return h.ID == id })
		if n < 0 {
			n, out = len(out), append(out, Holder{Key: queue, ID: id})
		}
		out[n].Held++
		out[n].Silence = max(out[n].Silence, time.Duration(idle)*time.Millisecond)
	}
	return out, nil
}

var allowedScript = script("allowed")

type command struct {
	words []string
	on    string
}

func (c command) name() string {
	if c.words[0] == "XINFO" || c.words[0] == "XGROUP" {
		return c.words[0] + "|" + c.words[1]
	}
	return c.words[0]
}

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

// needed returns the commands of receiving and sending. A test compares docs/guides/redis.md with them.
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

// Missing returns the commands that reading the queue and sending to the targets need and the user may not run, as
// "COMMAND" or "COMMAND on KEY". It fails before Redis 7, or if scripts are refused.
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

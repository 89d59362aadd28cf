package doctor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/broker/redis"
)

const redisList, redisStream = "redis-list", "redis-stream"

const (
	// maxSources bounds the examined sources per kind of broker.
	maxSources = 50
	// sampled bounds the decoded messages of a queue.
	sampled = 100
	// quietConsumer is how long the consumer of an application is surely gone: it signals every 15 minutes under
	// the longest lease.
	quietConsumer = 20 * time.Minute
)

// source is a source of dead letters on a broker.
type source struct {
	namespace, name, driver, url, queue, format string
	targets                                     []string
	intake                                      bool // its messages are jobs
}

func (s source) String() string { return fmt.Sprintf("source %s (%s)", s.name, s.namespace) }

// redis examines the Redis servers and queues of sources; none without such sources.
func (p *patient) redis(ctx context.Context) ([]Check, error) {
	sources, checks, err := p.sources(ctx, "redis_sources", redisList, redisStream)
	if err != nil {
		return nil, err
	}
	servers := map[string]bool{}
	for _, s := range sources {
		found := p.oneSource(ctx, s, servers)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		checks = append(checks, found...)
	}
	return checks, nil
}

// sources returns the sources of two drivers; check names a problem with them.
func (p *patient) sources(ctx context.Context, check, driver, other string,
) (sources []source, checks []Check, err error) {
	checks, err = p.examine(ctx, []exam{{check, func(ctx context.Context, tx *sql.Tx) (_ []Check, err error) {
		sources, err = list(ctx, tx, scanSource, `SELECT namespace, name, driver, url, queue, format, targets, intake
  FROM tasker_sources WHERE driver IN ($1, $2) ORDER BY namespace, name LIMIT $3`, driver, other, maxSources+1)
		return nil, err
	}}})
	if len(sources) > maxSources {
		sources = sources[:maxSources]
		checks = append(checks, Check{check, Warn,
			fmt.Sprintf("only the first %d sources with the driver %s were looked at", maxSources, driver),
			"Look at the others with tasker source test."})
	}
	return sources, checks, err
}

func scanSource(rows *sql.Rows) (s source, err error) {
	var targets sql.NullString
	var intake string
	if err = rows.Scan(&s.namespace, &s.name, &s.driver, &s.url, &s.queue, &s.format, &targets, &intake); err != nil {
		return s, err
	}
	if s.intake = intake != ""; s.intake {
		var of struct {
			WriteFailures string `json:"write_failures"`
		}
		if err = json.Unmarshal([]byte(intake), &of); err != nil {
			return s, err
		}
		if of.WriteFailures != "" {
			s.targets = append(s.targets, of.WriteFailures)
		}
	}
	var named []string
	if targets.String != "" {
		err = json.Unmarshal([]byte(targets.String), &named)
	}
	s.targets = append(s.targets, named...)
	return s, err
}

// oneSource examines a source and, once per URL, its server.
func (p *patient) oneSource(ctx context.Context, s source, servers map[string]bool) []Check {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	i, err := redis.NewInspector(s.url, s.driver == redisList)
	if err != nil {
		return s.unreachable(err)
	}
	defer func() { _ = i.Close() }() // read-only
	var checks []Check
	if !servers[s.url] {
		servers[s.url] = true
		seen, err := i.Servers(ctx)
		if err != nil {
			return s.unreachable(err)
		}
		for _, server := range seen {
			checks = append(checks, redisServer(server)...)
		}
	}
	checks = append(checks, s.permissions(ctx, i)...)
	checks = append(checks, s.orphans(ctx, i, p.Limits)...)
	if s.intake {
		return checks
	}
	return append(checks, s.formats(ctx)...)
}

func (s source) unreachable(err error) []Check {
	return []Check{{"redis", Fail, fmt.Sprintf("the Redis of %s cannot be used: %s", s, reason(err)),
		"Check that it runs, its address, and user and password of the source; then run tasker source test " + s.name + "."}}
}

func (s source) blind(name, what string, err error) []Check {
	return []Check{{name, Warn, fmt.Sprintf("%s of %s cannot be seen: %s", what, s, reason(err)),
		"See the permissions that a user needs in docs/" + strings.Split(s.driver, "-")[0] + ".md."}}
}

func (s source) permissions(ctx context.Context, i *redis.Inspector) []Check {
	const name = "redis_permissions"
	missing, err := i.Missing(ctx, s.queue, s.sendsTo())
	switch {
	case err != nil:
		return []Check{{name, Fail, fmt.Sprintf("the permissions of %s cannot be seen: %s", s, reason(err)),
			"Tasker needs Redis 7 or Valkey, and a user that may EVAL and EVALSHA."}}
	case len(missing) == 0:
		return []Check{{Name: name, Status: OK, Seen: fmt.Sprintf("the user of %s has all that it needs", s)}}
	}
	const most = 8
	text := strings.Join(missing[:min(len(missing), most)], ", ")
	if len(missing) > most {
		text += fmt.Sprintf(" and %d more", len(missing)-most)
	}
	return []Check{{name, Fail, fmt.Sprintf("the user of %s may not run %s", s, text),
		"Grant these with ACL SETUSER; docs/guides/redis.md lists all that a user needs."}}
}

// sendsTo returns the queues that letters go to: targets that name one, else the origin.
func (s source) sendsTo() []string {
	out := slices.DeleteFunc(slices.Clone(s.targets), func(t string) bool { return strings.Contains(t, "*") })
	if len(s.targets) == 0 {
		out = append(out, s.origin()...)
	}
	return out
}

// origin derives the original queue from the queue's name, if possible.
func (s source) origin() []string {
	if name, ok := strings.CutPrefix(s.queue, "dlq:"); ok {
		return []string{strings.TrimPrefix(name, "overflow:")}
	}
	return nil
}

// orphans finds messages held by readers and consumers that are gone.
func (s source) orphans(ctx context.Context, i *redis.Inspector, limits Limits) []Check {
	const name = "redis_orphans"
	holders, err := i.Holders(ctx, s.queue, limits.Overdue)
	if err != nil {
		return s.blind(name, "what readers hold", err)
	}
	var checks []Check
	for _, h := range holders {
		checks = append(checks, Check{name, Warn,
			fmt.Sprintf("%d messages of %s are held by a reader that is gone%s (%s in %s)", h.Held, s, since(h), h.ID, h.Key),
			"Start a server, and resume the source if it is paused: the messages are captured then."})
	}
	if s.driver == redisList {
		queues := append(s.origin(), s.sendsTo()...)
		slices.Sort(queues)
		for _, q := range slices.Compact(queues) {
			consumers, err := i.Consumers(ctx, q, quietConsumer)
			if err != nil {
				return append(checks, s.blind(name, "what consumers of "+q+" hold", err)...)
			}
			for _, h := range consumers {
				checks = append(checks, Check{name, Warn,
					fmt.Sprintf("%d jobs of %s are held by a consumer that is gone%s (%s)", h.Held, q, since(h), h.Key),
					"Start a consumer of " + q + ": it gives them back to the queue. Without one, move them with LMOVE."})
			}
		}
	}
	if len(checks) == 0 {
		checks = []Check{{Name: name, Status: OK, Seen: fmt.Sprintf("nothing of %s is held by a reader that is gone", s)}}
	}
	return checks
}

// since tells how long a holder is gone, if known.
func since(h redis.Holder) string {
	if h.Silence == 0 {
		return ""
	}
	return ", for " + long(h.Silence) + " by now"
}

// formats counts the first waiting messages that follow no known convention.
func (s source) formats(ctx context.Context) []Check {
	const name = "redis_formats"
	open := redis.OpenStreams
	if s.driver == redisList {
		open = redis.OpenLists
	}
	d, err := driver.Registry{s.driver: open}.Open(ctx, s.driver, s.url)
	if err != nil {
		return s.blind(name, "the messages", err)
	}
	defer func() { _ = d.Close() }()
	messages, err := d.Peek(ctx, s.queue, sampled)
	if err != nil {
		return s.blind(name, "the messages", err)
	}
	unknown, why := 0, ""
	for _, m := range messages {
		if d := format.Decode(m, s.format); d.Undecoded != "" {
			unknown++
			why = d.Undecoded
		}
	}
	sample := fmt.Sprintf("of the first %d messages that wait in %s", len(messages), s)
	if unknown == 0 {
		return []Check{{Name: name, Status: OK, Seen: sample + " all are in a known format"}}
	}
	return []Check{{name, Warn, fmt.Sprintf("%s %d are in no known format: %s", sample, unknown, why),
		"They become letters all the same, without a cause. If another program writes to the queue, name another one; else " +
			"set the format of the source."}}
}

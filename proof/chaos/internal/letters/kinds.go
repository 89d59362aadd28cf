package letters

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

const (
	dead, deadOfPolicy, orders = "dlq", "dlq2", "orders"
)

type entry struct {
	key     string // of Kafka
	payload string
	headers []string // names and values, not of a list
}

// kind is a kind of queue.
type kind struct {
	driver    string
	verb      string // of Redis
	read      string // Lua that returns all of the queue KEYS[1]
	queueType string
	// Of dead messages; "" for job_failure.
	format string
	// blind: the broker does not remember sends, so one with an unknown outcome may come twice.
	blind bool
	// stages are parts of commands that appear when a node has taken messages, acknowledged them, or sent some.
	stages map[string]string
}

func (k *kind) headers() bool { return k != lists }

// queues are a broker's. Calls fail while it is down.
type queues interface {
	// After an error of push the entries may be there or not.
	push(queue string, entries []entry) error
	// from reads entries of the queue orders: of a list from a place, of others behind an ID.
	from(place int, id string) ([]found, error)
	// waiting counts messages, including taken but unacknowledged ones.
	waiting(queue string) (int, error)
}

type redis struct {
	kind   *kind
	server func() string // its URL, past all links
}

var lists = &kind{
	driver: "redis-list", verb: "RPUSH", read: "redis.call('LRANGE', KEYS[1], 0, -1)",
	stages: map[string]string{"taken": `"HSET" "tasker:{dlq`, "acknowledged": `"HDEL" "tasker:{dlq`,
		"sent": `"ZADD" "tasker:{orders}:sent"`},
}

var streams = &kind{
	driver: "redis-stream", verb: "XADD", read: "redis.call('XRANGE', KEYS[1], '-', '+')",
	stages: map[string]string{"taken": `"XREADGROUP"`, "acknowledged": `"XACK" "dlq`,
		"sent": `"ZADD" "tasker:{orders}:sent"`},
}

func (k *kind) fields(e entry) []string {
	if k == lists {
		return []string{e.payload}
	}
	return append([]string{"payload", e.payload}, e.headers...)
}

// pushScript adds all entries or none. ARGV: verb, then the number of fields and the fields of each.
const pushScript = `
local at = 2
while at <= #ARGV do
  local n = tonumber(ARGV[at])
  if ARGV[1] == 'XADD' then
    redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, at + n))
  else
    redis.call(ARGV[1], KEYS[1], unpack(ARGV, at + 1, at + n))
  end
  at = at + n + 1
end
return 0`

func (b *redis) push(queue string, entries []entry) error {
	k := b.kind
	command := []string{"EVAL", pushScript, "1", queue, k.verb}
	for _, e := range entries {
		f := k.fields(e)
		command = append(append(command, strconv.Itoa(len(f))), f...)
	}
	_, err := redistest.Do(b.server(), command...)
	return err
}

// found is an entry that was read, with its ID in a stream.
type found struct {
	id string
	entry
}

func (b *redis) from(place int, id string) ([]found, error) {
	command := []string{"LRANGE", orders, strconv.Itoa(place), "-1"}
	if b.kind == streams {
		command = []string{"XRANGE", orders, "(" + id, "+"}
		if id == "" {
			command[2] = "-"
		}
	}
	answer, err := redistest.Do(b.server(), command...)
	if err != nil {
		return nil, err
	}
	return b.kind.entries(answer)
}

func (k *kind) entries(answer any) ([]found, error) {
	list, ok := answer.([]any)
	if !ok {
		return nil, fmt.Errorf("an answer is %T", answer)
	}
	out := make([]found, 0, len(list))
	for _, one := range list {
		if k == lists {
			out = append(out, found{entry: entry{payload: fmt.Sprint(one)}})
			continue
		}
		pair, ok := one.([]any)
		if !ok || len(pair) != 2 {
			return nil, errors.New("an entry is no pair")
		}
		f := found{id: fmt.Sprint(pair[0])}
		fields, _ := pair[1].([]any)
		for i := 0; i+1 < len(fields); i += 2 {
			name, value := fmt.Sprint(fields[i]), fmt.Sprint(fields[i+1])
			if name == "payload" {
				f.payload = value
			} else {
				f.headers = append(f.headers, name, value)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

func (b *redis) waiting(queue string) (int, error) {
	script := `local n = redis.call('LLEN', KEYS[1])
for _, key in ipairs(redis.call('KEYS', 'tasker:{' .. KEYS[1] .. '}:held:*')) do n = n + redis.call('HLEN', key) end
return n`
	if b.kind == streams {
		script = `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local n = redis.call('XLEN', KEYS[1])
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local of = {}
  for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
  n = of['pending'] + #redis.call('XRANGE', KEYS[1], '(' .. of['last-delivered-id'], '+')
end
return n`
	}
	answer, err := redistest.Do(b.server(), "EVAL", script, "1", queue)
	if err != nil {
		return 0, err
	}
	n, ok := answer.(int64)
	if !ok {
		return 0, fmt.Errorf("the number of messages is %v", answer)
	}
	return int(n), nil
}

// flushed is the lost content, and the consumer's unread messages.
type flushed struct {
	lost   []string // payloads of dead messages, some already captured
	unread []found
}

func (k *kind) flush(server string) (flushed, error) {
	script := `
local function all(queue)
  local KEYS = {queue}
  return ` + k.read + `
end
local held = {}
for _, key in ipairs(redis.call('KEYS', 'tasker:*:held:*')) do
  for _, payload in ipairs(redis.call('HVALS', key)) do held[#held + 1] = payload end
end
local out = {all(KEYS[1]), all(KEYS[2]), all(KEYS[3]), held}
redis.call('FLUSHALL')
return out`
	answer, err := redistest.Do(server, "EVAL", script, "3", dead, deadOfPolicy, orders)
	if err != nil {
		return flushed{}, err
	}
	parts, ok := answer.([]any)
	if !ok || len(parts) != 4 {
		return flushed{}, fmt.Errorf("FLUSHALL is answered %v", answer)
	}
	var out flushed
	for _, part := range parts[:2] {
		entries, err := k.entries(part)
		if err != nil {
			return out, err
		}
		for _, e := range entries {
			out.lost = append(out.lost, e.payload)
		}
	}
	held, _ := parts[3].([]any)
	for _, payload := range held {
		out.lost = append(out.lost, fmt.Sprint(payload))
	}
	out.unread, err = k.entries(parts[2])
	return out, err
}

// parameters are for a source's URL. A flushed stream must be recreated, and captured messages must not count as lost.
func (k *kind) parameters(flush bool) url.Values {
	switch {
	case k.queueType != "":
		return parametersOfRabbit()
	case k == topics:
		return parametersOfKafka()
	}
	p := url.Values{"gone": {"2s"}, "timeout": {"1s"}}
	if k == streams {
		p.Set("missing", "created")
		if flush {
			p.Set("acknowledged", "removed")
		}
	}
	return p
}

// order is the number of a message from its payload; 0 if damaged.
func order(payload string) int {
	_, rest, _ := strings.Cut(payload, `"order":`)
	digits := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if digits < 1 {
		return 0
	}
	n, err := strconv.Atoi(rest[:digits])
	if err != nil {
		return 0
	}
	return n
}

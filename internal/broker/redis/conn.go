package redis

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

//go:embed scripts/*.lua
var sources embed.FS

// script returns a script by name. Only a server that lacks its checksum gets the text.
func script(name string) *rueidis.Lua {
	text, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic("the binary lacks a script: " + err.Error()) // it was built without its own files
	}
	return rueidis.NewLuaScript(string(text))
}

var sendScript = script("send")

type conn struct {
	driver.Basic
	client rueidis.Client
	opts   options

	mu        sync.Mutex
	closed    bool
	receivers map[*receiver]struct{}
}

func connect(text string, list bool) (*conn, error) {
	u, o, err := parse(text, list)
	if err != nil {
		return nil, err
	}
	u.Option.Dialer.Timeout = o.timeout
	// Longer than a call, or a message: a slow answer must not end the shared connection.
	u.Option.ConnWriteTimeout = 2 * max(o.timeout, driver.MessageTime)
	u.Option.DisableCache = true
	u.Option.PipelineMultiplex = -1
	u.Option.DisableRetry = true // the caller of the driver decides
	client, err := rueidis.NewClient(u.Option)
	if err != nil {
		return nil, classify(err)
	}
	return &conn{client: client, opts: o, receivers: map[*receiver]struct{}{}}, nil
}

func key(queue, name string) string {
	if _, rest, ok := strings.Cut(queue, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return "tasker:{" + tag + "}:" + queue + ":" + name
		}
	}
	return "tasker:{" + queue + "}:" + name
}

// apart reports whether a list or stream and its keys would be on different nodes of a cluster: a closing brace ends
// the hash tag too early. No name of a key can help that.
func apart(queue string) bool {
	own := key(queue, "")
	_, tag, _ := strings.Cut(own, "{")
	tag, _, _ = strings.Cut(tag, "}")
	return tag != queue && !strings.Contains(queue, "{"+tag+"}")
}

func (c *conn) usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return driver.ErrClosed
	}
	return nil
}

func (c *conn) run(ctx context.Context, s *rueidis.Lua, keys []string, args ...string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.timeout)
	defer cancel()
	return c.exec(ctx, s, keys, args)
}

func (c *conn) exec(ctx context.Context, s *rueidis.Lua, keys, args []string) ([]rueidis.RedisMessage, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if c.client.Mode() == rueidis.ClientModeCluster && apart(keys[0]) {
		return nil, fmt.Errorf("%w: the name %q has braces that keep Tasker's keys off its node of the cluster",
			driver.ErrRefused, keys[0])
	}
	answer, err := s.Exec(ctx, c.client, keys, args).ToMessage()
	if err != nil || !answer.IsArray() {
		return nil, classify(err)
	}
	return answer.ToArray()
}

func ask[T any](ctx context.Context, c *conn, command rueidis.Completed, read func(rueidis.RedisResult) (T, error)) (
	answer T, err error,
) {
	if err := c.usable(); err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.timeout)
	defer cancel()
	result := c.client.Do(ctx, command)
	if err := result.Error(); err != nil {
		return answer, classify(err)
	}
	return read(result)
}

func pairs(answer []rueidis.RedisMessage, read func(first, second string)) error {
	for i := 0; i+1 < len(answer); i += 2 {
		first, err := answer[i].ToString()
		if err != nil {
			return err
		}
		second, err := answer[i+1].ToString()
		if err != nil {
			return err
		}
		read(first, second)
	}
	return nil
}

// Bounds of one run of the script that sends, which blocks the server.
const (
	sendMessages = 500
	sendBytes    = 1 << 20
)

// send adds messages to a list or a stream; parts returns the parts of a message. Those of one run begin together. A
// failure such as a missing permission holds for all: no other is tried.
func (c *conn) send(ctx context.Context, verb, target string, messages []driver.Message, limits driver.Limits,
	parts func(*driver.Message) []string,
) []error {
	errs := make([]error, len(messages))
	keys := []string{target, key(target, "sent")}
	for begin := 0; begin < len(messages); {
		if ctx.Err() != nil || limits.Over() {
			fail(errs, messages, begin, len(errs), driver.ErrUntried)
			return errs
		}
		args := []string{verb, strconv.FormatInt(c.opts.remember.Milliseconds(), 10)}
		end, size := begin, 0
		for end < len(messages) && end-begin < sendMessages && (size == 0 || size < sendBytes) {
			m := &messages[end]
			of := parts(m)
			args = append(append(args, mark(m.SendID), strconv.Itoa(len(of))), of...)
			size += m.Size() + 1
			end++
		}
		each, cancel := limits.Message(ctx)
		done, err := c.sendSome(each, keys, args)
		cancel()
		if err != nil {
			fail(errs, messages, begin+done, end, fmt.Errorf("send to %q: %w", target, err))
			return errs
		}
		begin = end
	}
	return errs
}

func (c *conn) sendSome(ctx context.Context, keys, args []string) (int, error) {
	answer, err := c.exec(ctx, sendScript, keys, args)
	if err != nil {
		return 0, err
	}
	if len(answer) != 2 {
		return 0, fmt.Errorf("%w: the script for sending gave no answer", driver.ErrUncertain)
	}
	done, err := answer[0].AsInt64()
	if err != nil {
		return 0, classify(err)
	}
	if text, _ := answer[1].ToString(); text != "" {
		return int(done), answered(text)
	}
	return int(done), nil
}

// Close implements driver.Driver. Messages that receivers cannot give back now are taken over later.
func (c *conn) Close() error {
	c.mu.Lock()
	receivers := slices.Collect(maps.Keys(c.receivers))
	c.mu.Unlock()
	for _, r := range receivers {
		_ = r.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.client.Close()
	}
	return nil
}

// callContext is for a call whose answer lists what this process holds: its caller's context must not cut it off.
func (c *conn) callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.opts.timeout)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// meanings are Redis's answers, by first word, that are not transient. After OOM, LOADING, MISCONF, CLUSTERDOWN and the
// like nothing was done, and a later try may succeed.
var meanings = map[string]error{
	"NOPERM":    driver.ErrRefused,
	"WRONGTYPE": driver.ErrRefused,
	"CROSSSLOT": driver.ErrRefused,
	"NOSTREAM":  driver.ErrNotFound,
	// A replica, or a group that went with its stream: a new connection or receiver helps.
	"READONLY": driver.ErrLost,
	"NOGROUP":  driver.ErrLost,
	"NOAUTH":   driver.ErrLost,
}

func answered(text string) error {
	word, _, _ := strings.Cut(text, " ")
	meaning := meanings[word]
	// A script's missing permission has no word, and other texts in other versions.
	if strings.Contains(text, "ACL failure in script") || strings.Contains(text, "The user executing the script can't") {
		meaning = driver.ErrRefused
	}
	if meaning != nil {
		return fmt.Errorf("%w: %s", meaning, text)
	}
	return errors.New(text)
}

// classify converts an error. Without an answer, only a failed dial has done nothing.
func classify(err error) error {
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return answered(answer.Error())
	}
	var op *net.OpError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	return fmt.Errorf("%w: %w: %w", driver.ErrLost, driver.ErrUncertain, err)
}

// fail notes the error of messages from begin on; those from end on were not begun, but a permanent error holds for
// them too. One with a mark may be sent again in any case.
func fail(errs []error, messages []driver.Message, begin, end int, err error) {
	unknown := errors.Is(err, driver.ErrUncertain) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
	for i := begin; i < len(errs); i++ {
		switch {
		case i >= end && !driver.Permanent(err):
			errs[i] = driver.ErrUntried
		case unknown && messages[i].SendID != "":
			errs[i] = fmt.Errorf("%w: %w", driver.ErrRepeatable, err)
		case unknown:
			errs[i] = fmt.Errorf("%w: %w", driver.ErrUncertain, err)
		default:
			errs[i] = err
		}
	}
}

// mark is the remembered form of a SendID, short and of one length; "" for none.
func mark(sendID string) string {
	if sendID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(sendID))
	return string(sum[:16])
}

package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redisurl"
	"github.com/taskerhq/tasker/internal/engine"
)

// Options are the settings outside the URL.
type Options struct {
	// Prefix names the installation, unless the URL does. Defaults to "tasker".
	Prefix string
	// Logger is for an unreachable server at opening. Defaults to silence.
	Logger *slog.Logger
}

// Dispatcher is an engine.Dispatcher on Redis. It is safe for concurrent use. A call blocks for at most the timeout of
// the URL.
type Dispatcher struct {
	option  rueidis.ClientOption
	timeout time.Duration
	keys    []string // KEYS of every script
	channel string
	node    string
	log     *slog.Logger
	scripts *scripts

	dials    atomic.Int64
	verified atomic.Int64 // connections that have reached the run of the epoch

	mu     sync.Mutex
	client rueidis.Client // nil: not connected yet
	failed error          // until retry
	retry  time.Time
	closed bool
	belief belief
}

var _ engine.Dispatcher = (*Dispatcher)(nil)

var errClosed = errors.New("the connection to Redis has been closed")

const connectPause = 200 * time.Millisecond

// OpenQueue is Open, as a dispatch.OpenQueue.
func OpenQueue(ctx context.Context, url, prefix string, log *slog.Logger) (engine.Dispatcher, error) {
	d, err := Open(ctx, url, &Options{Prefix: prefix, Logger: log})
	if err != nil {
		return nil, err // a nil *Dispatcher in the interface would not be nil
	}
	return d, nil
}

// Open returns a dispatcher on the server of a URL:
//
//	redis://[USER:PASSWORD@]HOST:PORT[/DATABASE][?PARAMETERS]   rediss:// with TLS
//
//	prefix=NAME      prefix of this installation's keys; overrides Options.Prefix
//
// and the parameters of package redisurl, with a timeout of 1s unless the URL has one.
//
// An unreachable server is no error, because the engine can work without it: every verb tries to connect. A server that
// refuses the password, or evicts keys, is an error. Verbs return ErrDispatchLost until Check or Loaded has learned the
// epoch.
func Open(ctx context.Context, url string, o *Options) (*Dispatcher, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	prefix := t.prefix
	if prefix == "" {
		prefix = o.Prefix
	}
	if prefix == "" {
		prefix = defaultPrefix
	}
	if !names.MatchString(prefix) {
		return nil, fmt.Errorf("the prefix of keys in Redis must be 1 to 64 of the characters A-Z a-z 0-9 _ . : -, not %q",
			prefix)
	}
	d := &Dispatcher{option: t.option, timeout: t.timeout, log: o.Logger, keys: []string{"{" + prefix + "}:"},
		node: rand.Text()[:nodeSize]}
	// Channels are not separated by database.
	d.channel = d.keys[0] + "offered:" + strconv.Itoa(t.option.SelectDB)
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.scripts, err = loadScripts(); err != nil {
		return nil, err
	}
	d.configure()
	switch _, err := d.look(ctx); {
	case refused(err):
		d.Close()
		return nil, fmt.Errorf("open Redis: %w", err)
	case err != nil:
		d.log.WarnContext(ctx, "Redis cannot be reached", "error", err)
	}
	return d, nil
}

// configure sets short limits, because a caller that waits for Redis could ask the database instead. ConnWriteTimeout
// is longer than a call: a slow answer must not end the shared connection.
func (d *Dispatcher) configure() {
	o := &d.option
	o.Dialer.Timeout = d.timeout
	o.ConnWriteTimeout = 2 * d.timeout
	o.DisableCache = true
	// One connection: the server runs scripts in one thread, and each broken connection costs a call.
	o.PipelineMultiplex = -1
	// A failed call may have taken effect: the engine decides on a retry.
	o.DisableRetry = true
	o.DialCtxFn = func(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		d.dials.Add(1)
		if config != nil {
			return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", address)
		}
		return dialer.DialContext(ctx, "tcp", address)
	}
}

// connected returns the client, and creates a missing one. After a failure it returns the same error for connectPause,
// so that an unreachable server does not delay every call.
func (d *Dispatcher) connected() (rueidis.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errClosed
	case d.client != nil:
		return d.client, nil
	case d.failed != nil && time.Now().Before(d.retry):
		return nil, d.failed
	}
	client, err := rueidis.NewClient(d.option)
	if err != nil {
		d.failed, d.retry = err, time.Now().Add(connectPause)
		return nil, err
	}
	d.client, d.failed = client, nil
	return client, nil
}

// Close ends the connections. Verbs then return an error. A second call has no effect.
func (d *Dispatcher) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.client != nil {
		d.client.Close()
		d.client = nil
	}
}

const (
	defaultPrefix  = "tasker"
	defaultTimeout = time.Second
)

type target struct {
	option  rueidis.ClientOption
	prefix  string // empty: not given
	timeout time.Duration
}

// names matches prefixes without braces, which delimit the hash tag.
var names = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// parseURL connects to nothing. An error never contains the URL.
func parseURL(text string) (target, error) {
	u, err := redisurl.Parse(text, "prefix")
	if err != nil {
		return target{}, err
	}
	t := target{option: u.Option, prefix: u.Own.Get("prefix"), timeout: cmp.Or(u.Timeout, defaultTimeout)}
	if u.Own.Has("prefix") && !names.MatchString(t.prefix) {
		return target{},
			fmt.Errorf("the prefix in the URL of Redis must be 1 to 64 of the characters A-Z a-z 0-9 _ . : -, not %q", t.prefix)
	}
	return t, nil
}

// Process returns the process ID of the server of a URL, for measurements on its machine.
func Process(ctx context.Context, url string) (pid int, err error) {
	t, err := parseURL(url)
	if err != nil {
		return 0, err
	}
	d := &Dispatcher{option: t.option, timeout: t.timeout}
	d.configure()
	defer d.Close()
	client, err := d.connected()
	if err != nil {
		return 0, err
	}
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for its process: %w", err)
	}
	for line := range strings.Lines(info) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); found {
			return strconv.Atoi(text)
		}
	}
	return 0, fmt.Errorf("ask Redis for its process: %w", errAnswer)
}

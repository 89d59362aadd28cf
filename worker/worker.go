package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/vitals"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Options configures New. A zero field, or nil for the whole, selects the default.
type Options struct {
	// Name defaults to host name and process ID.
	Name string
	// Namespaces are those whose handlers the worker runs. Defaults to those of the API key if it is limited to some,
	// else to "default". protocol.AllNamespaces alone selects all that the key reaches.
	Namespaces []string
	// Capabilities of the worker; it gets no step that requires another. Defaults to none.
	Capabilities []string
	// Concurrency bounds the steps that run at once. Defaults to 10.
	Concurrency int
	// PollWait bounds one long poll; the server may shorten it. Defaults to 20 seconds.
	PollWait time.Duration
	// DrainTimeout bounds how long running handlers may continue after Run must stop; then their contexts end. Run
	// retries unaccepted results for the same time, at least 10 seconds; then it drops them, and their steps run
	// again. Defaults to 30 seconds; negative means no time.
	DrainTimeout time.Duration
	// Abort, when closed, ends DrainTimeout early or skips it: for a second Ctrl-C. Defaults to never.
	Abort <-chan struct{}
	// HeartbeatInterval overrides the server's interval. Both are limited to a third of the lease.
	HeartbeatInterval time.Duration
	// Transport brings the steps in messages of a broker, instead of polls. The server must offer it. Defaults to
	// polls.
	Transport Transport
	// Health is where the worker serves its health report for the server's probes. Defaults to nowhere.
	Health *Health
	// Logger receives a line at the start, one for each failure of a step (an error if it is final), and warnings.
	// Defaults to slog.Default().
	Logger *slog.Logger
	// Quiet omits the start and the failures of steps from the log. The server has them anyway.
	Quiet bool
}

// Worker claims steps and runs their handlers. It renews the leases of running steps, registers again when the server
// has forgotten it, and retries with growing pauses while the server is unavailable. Meanwhile handlers continue, and
// results are kept up to the timeout of the attempt. A worker keeps two polls at the server, each for at most half of
// the slots; one when Concurrency is 1. With a Transport it does not poll.
type Worker struct {
	backend protocol.Backend
	codec   *tasker.Client // nil without a codec
	server  string         // its address; empty: the engine is in this process
	opts    Options
	vitals  *vitals.Monitor
	current atomic.Pointer[[]*session] // of the latest Run; nil: none runs

	// mu guards the fields below.
	mu         sync.Mutex
	handlers   map[string]*registered
	middleware []Middleware
	misuse     []error // of Handle and Use; Run returns them
}

// New returns a Worker with client's steps and codec. Register handlers with Handle, the function or the method, then
// call Run. New copies the options, does not connect and starts nothing.
func New(client *tasker.Client, opts *Options) *Worker {
	w := &Worker{backend: protocol.Of(client), handlers: make(map[string]*registered)}
	if client.HasCodec() {
		w.codec = client
	}
	if server, is := client.Backend.(interface{ Address() string }); is {
		w.server = server.Address()
	}
	if opts != nil {
		w.opts = *opts
	}
	w.opts = w.opts.withDefaults()
	var health Health
	if w.opts.Health != nil {
		health = *w.opts.Health
	}
	w.vitals = vitals.New(health.limits())
	return w
}

// withDefaults leaves HeartbeatInterval and Health unset: the session resolves them with the server's values.
func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = hostname() + "-" + strconv.Itoa(os.Getpid())
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 10
	}
	if o.PollWait <= 0 {
		o.PollWait = 20 * time.Second
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Handle registers h for the steps whose handler is called name. Run fails after an empty or duplicate name, a nil h
// or an invalid option. A Run that has begun does not use h. It is safe for concurrent use.
func (w *Worker) Handle(name string, h Handler, opts ...HandlerOption) {
	entry := &registered{run: h}
	for _, set := range opts {
		set(entry)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range entry.misuse {
		w.misuse = append(w.misuse, fmt.Errorf("handler %q: %w", name, err))
	}
	switch {
	case name == "":
		w.misuse = append(w.misuse, tasker.Errorf(tasker.CodeInvalid, "handler without a name"))
	case h == nil:
		w.misuse = append(w.misuse, tasker.Errorf(tasker.CodeInvalid, "handler %q is nil", name))
	case w.handlers[name] != nil:
		w.misuse = append(w.misuse, tasker.Errorf(tasker.CodeInvalid, "handler %q is registered twice", name))
	default:
		w.handlers[name] = entry
	}
}

// Handlers returns the names of the registered handlers, sorted. It is safe for concurrent use.
func (w *Worker) Handlers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.handlers))
}

// Run works until ctx ends or the server asks the worker to drain. Then it takes no more steps, lets handlers finish
// within DrainTimeout, ends the contexts of the others and returns their steps with no attempt charged, reports the
// remaining results and deregisters.
//
// It then returns nil, or an error if a handler did not return or a result could not be reported. It fails
// immediately if the configuration is invalid, the address of Health is not available, or the server or the broker
// refuses the worker. A Worker can run again after Run has returned, under a new registration. Two concurrent Runs
// register as two workers.
//
// Each handler with WithConcurrency has a separate registration. When the server drains one of them, the others
// continue; when it refuses one, all stop.
func (w *Worker) Run(ctx context.Context) error {
	groups, err := w.groups()
	if err != nil {
		return err
	}
	url, stop, err := w.serveHealth(ctx)
	if err != nil {
		return err
	}
	defer stop()
	sessions := make([]*session, len(groups))
	for i, g := range groups {
		sessions[i] = newSession(ctx, w, g)
		sessions[i].registration.HealthURL = url
	}
	w.current.Store(&sessions)
	defer w.current.CompareAndSwap(&sessions, nil)
	if len(sessions) == 1 {
		return sessions[0].run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make([]error, len(sessions))
	var parts sync.WaitGroup
	for i, s := range sessions {
		parts.Go(func() {
			if ends[i] = s.run(ctx); ends[i] != nil {
				cancel()
			}
		})
	}
	parts.Wait()
	return errors.Join(ends...)
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

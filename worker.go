package tasker

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/vitals"
)

// WorkerOptions tune NewWorker. The zero value of each field, and nil for the
// whole, mean the default.
type WorkerOptions struct {
	// Name is shown to operators. Defaults to host name and process id.
	Name string
	// Namespaces the worker serves. Defaults to all.
	Namespaces []string
	// Capabilities say what the worker can do; it gets no step that requires
	// another. Defaults to none.
	Capabilities []string
	// Concurrency bounds the steps that run at once. Defaults to 10.
	Concurrency int
	// PollWait bounds one long poll; the server may bound it further.
	// Defaults to 20 seconds.
	PollWait time.Duration
	// DrainTimeout bounds how long running handlers may go on once Run was told
	// to stop; then their contexts end. Results that no server takes meanwhile are
	// tried for as long, and for 10 seconds at least; then they are given up, and
	// their steps run again. Defaults to 30 seconds; negative means at once.
	DrainTimeout time.Duration
	// HeartbeatInterval overrides the rhythm that the server asks for. It is
	// shortened to a third of the lease in either case.
	HeartbeatInterval time.Duration
	// Health is where the worker says how it is, to a server that asks. Defaults to
	// nowhere.
	Health *WorkerHealth
	// Logger gets what an operator should know: a server that does not answer,
	// a lease that was lost, a result that was refused. Defaults to slog.Default().
	Logger *slog.Logger
}

// Worker claims steps and carries them out. It keeps the leases of what it runs
// alive by itself, registers again when the server forgot it, and waits with
// growing pauses while the server is away. Handlers go on meanwhile, and results are
// kept until a server answers, up to the time-out of the attempt. Two polls of it wait at the server, each
// for half of the slots at the most; one when Concurrency is 1.
type Worker struct {
	backend Backend
	opts    WorkerOptions
	vitals  *vitals.Monitor
	current atomic.Pointer[shift] // of the Run that began last; nil: none runs

	mu       sync.Mutex
	handlers map[string]Handler
	misuse   []error // of Handle, told by Run
}

// NewWorker returns a Worker that takes its work from client. Register handlers
// with Handle or HandleFunc, then call Run.
func NewWorker(client *Client, opts *WorkerOptions) *Worker {
	w := &Worker{backend: client.Backend, handlers: make(map[string]Handler)}
	if opts != nil {
		w.opts = *opts
	}
	w.opts = w.opts.withDefaults()
	var health WorkerHealth
	if w.opts.Health != nil {
		health = *w.opts.Health
	}
	w.vitals = vitals.New(health.limits())
	return w
}

func (o WorkerOptions) withDefaults() WorkerOptions {
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

// Handle registers h for the steps whose handler is called name. A name that is
// empty or taken, or a nil h, makes Run fail. A Run that has begun does not see
// it.
func (w *Worker) Handle(name string, h Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case name == "":
		w.misuse = append(w.misuse, Errorf(CodeInvalid, "handler without a name"))
	case h == nil:
		w.misuse = append(w.misuse, Errorf(CodeInvalid, "handler %q is nil", name))
	case w.handlers[name] != nil:
		w.misuse = append(w.misuse, Errorf(CodeInvalid, "handler %q is registered twice", name))
	default:
		w.handlers[name] = h
	}
}

// Run works until ctx ends or the server asks the worker to drain. Then it takes
// no more steps, lets running handlers finish within DrainTimeout, ends the
// contexts of those that do not and gives their steps back unharmed, reports
// what is left to report and says good-bye to the server.
//
// It returns nil after such an end. It returns an error at once when the worker
// is not fit to run, cannot listen where WorkerHealth says, or the server refuses it, and at the end when a handler did
// not return even then, or a result could not be reported.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	handlers, misuse := maps.Clone(w.handlers), errors.Join(w.misuse...)
	w.mu.Unlock()
	if misuse != nil {
		return misuse
	}
	if len(handlers) == 0 {
		return Errorf(CodeInvalid, "worker %s has no handlers", w.opts.Name)
	}
	url, stop, err := w.serveHealth(ctx)
	if err != nil {
		return err
	}
	defer stop()
	s := newShift(ctx, w, handlers)
	s.registration.HealthURL = url
	w.current.Store(s)
	defer w.current.CompareAndSwap(s, nil)
	if err := s.register(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return s.work(ctx)
}

// registration introduces the worker with these handlers.
func (w *Worker) registration(handlers map[string]Handler) WorkerRegistration {
	return WorkerRegistration{
		Name:         w.opts.Name,
		Namespaces:   w.opts.Namespaces,
		Handlers:     slices.Sorted(maps.Keys(handlers)),
		Capabilities: w.opts.Capabilities,
		Capacity:     w.opts.Concurrency,
		Host:         hostname(),
		Version:      buildVersion(),
	}
}

// hostname is only shown, so a host that does not know its name is no error.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// buildVersion is the version of the program that the worker is part of.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

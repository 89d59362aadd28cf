package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/queueapi"
	"github.com/taskerhq/tasker/internal/strictjson"
	"github.com/taskerhq/tasker/internal/web"
	"github.com/taskerhq/tasker/operate"
)

// Options are what New can do without. The zero value serves everybody.
type Options struct {
	// Front is what the API shares with other handlers of the process: log, API keys,
	// budget of bodies. Defaults to one of its own, which serves everybody.
	Front *web.Front
	// LoopbackOnly refuses requests that are not addressed to localhost or a
	// loopback address: a page whose name resolves to this machine (DNS
	// rebinding) is of no other origin to a browser. For servers without keys.
	LoopbackOnly bool
	// Ready reports why the server cannot do its work now, nil when it can.
	// The text of a *tasker.Error is shown to whoever asks. Defaults to always ready.
	Ready func(context.Context) error
	// Limits bound requests.
	Limits Limits
	// Version is what GET /version answers. Defaults to "devel".
	Version string
	// Metrics answers GET /metrics. Defaults to no such route.
	Metrics http.Handler
	// Streams is told of streams of events. Defaults to none.
	Streams StreamWatcher
}

// Limits bound requests. What holds without HTTP too (payloads, items of a
// batch) is bounded by the engine.
type Limits struct {
	// BodyBytes bounds the body of a request about one thing, in bytes.
	// Defaults to 4 MiB.
	BodyBytes int64
	// BatchBodyBytes bounds the body of a request about many things, in bytes.
	// Defaults to 16 MiB, and is never less than BodyBytes.
	BatchBodyBytes int64
	// Streams bounds the streams of events that are open at once. Defaults to 1,000.
	Streams int
	// StreamsPerKey bounds those of one API key. Defaults to 250.
	StreamsPerKey int
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes <= 0 {
		l.BodyBytes = 4 << 20
	}
	if l.BatchBodyBytes <= 0 {
		l.BatchBodyBytes = 16 << 20
	}
	if l.Streams <= 0 {
		l.Streams = 1000
	}
	if l.StreamsPerKey <= 0 {
		l.StreamsPerKey = 250
	}
	l.BatchBodyBytes = max(l.BatchBodyBytes, l.BodyBytes)
	return l
}

// Backend is what the API serves: an engine, whichever way it is reached. Each family
// of routes declares its part.
type Backend interface {
	tasker.TaskBackend
	tasker.TemplateBackend
	CaseBackend
	WorkerBackend
	queueapi.Backend
}

// CaseBackend is what the routes about cases need.
type CaseBackend interface {
	operate.Backend
	// Case returns a case. CodeNotFound when there is none.
	Case(ctx context.Context, id uuid.UUID) (*operate.Case, error)
}

// WorkerBackend is what the worker protocol needs, in its own words and in those of the
// queue.
type WorkerBackend interface {
	tasker.WorkerBackend
	// WorkerPage returns a page of Workers, and the cursor to go on with, "" at the end.
	WorkerPage(ctx context.Context, cursor string, limit int) ([]tasker.WorkerInfo, string, error)
	// Registered returns a worker as it was registered, and may leave out what it holds:
	// that has to be counted, and polls are many.
	Registered(ctx context.Context, id uuid.UUID) (*tasker.WorkerInfo, error)
	// HeldTasks says what a worker holds of tasks, in the order asked: nil for a task that
	// does not exist.
	HeldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error)
}

// server is the API over one Backend.
type server struct {
	backend Backend
	front   *web.Front
	ready   func(context.Context) error
	limits  Limits
	version string
	watcher StreamWatcher

	// Filled while routes are added, read-only afterwards.
	mux      *http.ServeMux
	api      huma.API
	registry huma.Registry
	shapes   *strictjson.Compiler
	requests []*huma.Schema      // of all bodies
	hot      map[string]bool     // by pattern
	methods  map[string][]string // of the operations, by path
	typed    map[string][]string // by operation: parameters that an empty text is no value of
	integers map[string][]string // by operation: those of the query that are integers

	buffers sync.Pool
	streams openStreams
	workers workerScopes
}

// New returns the API over a Backend as one handler. The Backend stays the
// caller's to close. New panics when the API cannot be built from its types,
// which no input can cause.
func New(backend Backend, opts Options) http.Handler {
	s := &server{
		backend: backend, front: opts.Front, ready: opts.Ready,
		limits: opts.Limits.withDefaults(), version: opts.Version, watcher: opts.Streams,
		mux: http.NewServeMux(), registry: newRegistry(), hot: map[string]bool{}, methods: map[string][]string{},
		typed: map[string][]string{}, integers: map[string][]string{},
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	if s.front == nil {
		s.front = web.New(web.Options{})
	}
	if s.ready == nil {
		s.ready = func(context.Context) error { return nil }
	}
	if s.version == "" {
		s.version = "devel"
	}
	s.shapes = strictjson.NewCompiler(s.registry)
	s.api = humago.New(s.mux, apiConfig(s))
	s.routes()
	s.guardLiterals()
	s.serveMetrics(opts.Metrics)
	s.serveDocument()
	s.mux.HandleFunc("/", s.unknownRoute)
	return s.front.Mount(web.Policy{
		Observe: true, Quiet: func(pattern string) bool { return s.hot[pattern] },
		SameOrigin: true, LoopbackOnly: opts.LoopbackOnly, // keys and bodies are each operation's own: see guard
	}, s.mux)
}

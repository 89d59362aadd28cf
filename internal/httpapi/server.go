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

// Options are the optional settings of New. The zero value serves every client.
type Options struct {
	// Front holds the parts that the API shares with other handlers of the process: log, API keys, budget of bodies.
	// Defaults to a separate one that serves every client.
	Front *web.Front
	// LoopbackOnly refuses requests that are not addressed to localhost or a loopback address: a browser does not treat
	// a page whose name resolves to this machine (DNS rebinding) as another origin. For servers without keys.
	LoopbackOnly bool
	// Ready reports why the server cannot work now, or nil. The text of a *tasker.Error is shown to every client.
	// Defaults to always ready.
	Ready func(context.Context) error
	// Limits bound requests.
	Limits Limits
	// Version is the answer of GET /version. Defaults to "devel".
	Version string
	// Metrics answers GET /metrics. Defaults to no such route.
	Metrics http.Handler
	// Streams is notified of streams of events. Defaults to none.
	Streams StreamWatcher
}

// Limits bound requests. The engine bounds what is independent of HTTP (payloads, items of a batch).
type Limits struct {
	// BodyBytes bounds the body of a request for one object, in bytes. Defaults to 4 MiB.
	BodyBytes int64
	// BatchBodyBytes bounds the body of a request for many objects, in bytes. Defaults to 16 MiB, and is never less
	// than BodyBytes.
	BatchBodyBytes int64
	// Streams bounds the number of open streams of events. Defaults to 1,000.
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

// Backend is the engine behind the API, local or remote. Each family of routes declares its part.
type Backend interface {
	tasker.TaskBackend
	tasker.TemplateBackend
	CaseBackend
	WorkerBackend
	queueapi.Backend
}

// CaseBackend is the part for the routes of cases.
type CaseBackend interface {
	operate.Backend
	// Case returns a case, or CodeNotFound.
	Case(ctx context.Context, id uuid.UUID) (*operate.Case, error)
}

// WorkerBackend is the part for the worker protocol, in its own words and in those of the queue.
type WorkerBackend interface {
	tasker.WorkerBackend
	// WorkerPage returns a page of Workers, and the cursor of the next one, "" at the end.
	WorkerPage(ctx context.Context, cursor string, limit int) ([]tasker.WorkerInfo, string, error)
	// Registered returns a worker's registration, and may omit its load: that has to be counted, and polls are many.
	Registered(ctx context.Context, id uuid.UUID) (*tasker.WorkerInfo, error)
	// HeldTasks returns a worker's leases on each task, in the order of the request: nil for a task that does not
	// exist.
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

	// Set while routes are added, read-only afterwards.
	mux      *http.ServeMux
	api      huma.API
	registry huma.Registry
	shapes   *strictjson.Compiler
	requests []*huma.Schema      // of all bodies
	hot      map[string]bool     // by pattern
	methods  map[string][]string // of the operations, by path
	typed    map[string][]string // by operation: parameters for which empty text is not a value
	integers map[string][]string // by operation: integer parameters of the query

	buffers sync.Pool
	streams openStreams
	workers workerScopes
}

// New returns the API over a Backend as one handler. The caller still closes the Backend. New panics if the API cannot
// be built from its types, which no input can cause.
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
		SameOrigin: true, LoopbackOnly: opts.LoopbackOnly, // each operation checks keys and bodies: see guard
	}, s.mux)
}

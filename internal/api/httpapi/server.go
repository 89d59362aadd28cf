package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/dlq"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/masking"
	"github.com/taskerhq/tasker/internal/api/httpapi/queue"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/internal/api/httpapi/taskworker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/schedules"
	"github.com/taskerhq/tasker/waits"
)

// SensitiveRules finds the sensitive places.
type SensitiveRules = masking.Rules

// DLQOptions are the settings of /api/dlq.
type DLQOptions = dlq.Options

// Options are the optional settings of New. The zero value serves every client.
type Options struct {
	// Front is shared with other handlers of the process: log, API keys, budget of bodies. Defaults to a separate one
	// that serves every client.
	Front *web.Front
	// LoopbackOnly refuses requests that are not addressed to localhost or a loopback address; see web.Policy. For
	// servers without keys.
	LoopbackOnly bool
	// Ready reports why the server cannot work now, or nil. Clients see the text of a *tasker.Error. Defaults to always
	// ready.
	Ready func(context.Context) error
	// Without a backend the routes of its family answer unavailable.
	DeadLetters deadletters.Backend
	Schedules   schedules.Backend
	Jobs        dlqapi.Backend
	Messages    deadletters.TopicBackend
	DLQ         DLQOptions
	// Sensitive defaults to nothing: answers are not masked.
	Sensitive SensitiveRules
	Limits    Limits
	// Version defaults to "devel".
	Version string
	// Metrics answers GET /metrics. Without it the route does not exist.
	Metrics http.Handler
	Streams StreamWatcher
}

// Limits bound requests. The engine has the bounds that do not depend on HTTP (payloads, items of a batch).
type Limits struct {
	// BodyBytes bounds the body of a request for one object. Defaults to 4 MiB.
	BodyBytes int64
	// BatchBodyBytes bounds the body of a request for many objects. Defaults to 16 MiB, and is at least BodyBytes.
	BatchBodyBytes int64
	// LetterBytes bounds a dead letter; LetterBody is the size of its report. Defaults to 16 MiB.
	LetterBytes int64
	// Streams bounds the open streams of events. Defaults to 1,000.
	Streams int
	// StreamsPerKey defaults to 250.
	StreamsPerKey int
}

// LetterBody returns the size of the report of a dead letter: its payload is in base64, and there is room for the rest.
func LetterBody(letter int64) int64 { return letter/3*4 + 1<<20 }

func (l Limits) withDefaults() Limits {
	if l.BodyBytes <= 0 {
		l.BodyBytes = 4 << 20
	}
	if l.BatchBodyBytes <= 0 {
		l.BatchBodyBytes = 16 << 20
	}
	if l.LetterBytes <= 0 {
		l.LetterBytes = 16 << 20
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
	stepworker.Backend
	taskworker.Backend
	queue.Backend
	executionapi.Backend
	flow.Backend
	waits.Backend
}

// CaseBackend is the part for the routes of cases.
type CaseBackend interface {
	operate.Backend
	// Case returns a case, or CodeNotFound.
	Case(ctx context.Context, id uuid.UUID) (*operate.Case, error)
}

type server struct {
	api       *endpoint.API
	backend   Backend
	letters   deadletters.Backend
	schedules schedules.Backend        // nil: none
	jobs      dlqapi.Backend           // nil: none
	messages  deadletters.TopicBackend // nil: none
	dlq       dlq.Options
	front     *web.Front
	ready     func(context.Context) error
	limits    Limits
	masker    *masking.Masker
	version   string
	watcher   StreamWatcher

	streams openStreams
}

// API is the HTTP API over a Backend: a handler for clients, and a way for callers in this process.
type API struct {
	http.Handler
	operations http.Handler // without the checks of a Front
	log        *slog.Logger
}

// New returns the API over a Backend, which the caller closes. It panics if the API cannot be built from its types; no
// input causes that.
func New(backend Backend, opts Options) *API {
	s := &server{
		backend: backend, letters: opts.DeadLetters, schedules: opts.Schedules, jobs: opts.Jobs, messages: opts.Messages,
		dlq: opts.DLQ, front: opts.Front, ready: opts.Ready, limits: opts.Limits.withDefaults(), version: opts.Version,
		watcher: opts.Streams,
	}
	if s.front == nil {
		s.front = web.New(web.Options{})
	}
	if s.ready == nil {
		s.ready = func(context.Context) error { return nil }
	}
	s.version = cmp.Or(s.version, "devel")
	s.api = endpoint.New(s.front, s.limits.BodyBytes, s.limits.BatchBodyBytes, LetterBody(s.limits.LetterBytes))
	s.masker = masking.New(opts.Sensitive)
	s.api.MaskWith(s.masker)
	// Stand-ins and older names come before the routes that use them; the document comes after all routes.
	standIns(s.api)
	renameParameters(s.api)
	s.routes()
	s.serveMetrics(opts.Metrics)
	s.serveDocument()
	s.api.Complete()
	return &API{operations: s.api, log: s.front.Log(), Handler: s.front.Mount(web.Policy{
		Observe: true, Quiet: s.api.Quiet,
		SameOrigin: true, LoopbackOnly: opts.LoopbackOnly, // each operation checks keys and bodies: see guard
	}, s.api)}
}

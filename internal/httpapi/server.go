package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/strictjson"
)

// Options are what New can do without. The zero value serves everybody.
type Options struct {
	// Logger gets a line per request, and what 500s hide from the client.
	// Defaults to no log.
	Logger *slog.Logger
	// Keys are the API keys. With none everybody may do everything.
	Keys *access.Keyring
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
	// Watcher is told of requests. Defaults to none.
	Watcher Watcher
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
	// BodiesBytes bounds the bodies that are being received at one time, together, in
	// bytes. Defaults to 256 MiB, and is never less than BatchBodyBytes.
	BodiesBytes int64
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
	if l.BodiesBytes <= 0 {
		l.BodiesBytes = 256 << 20
	}
	l.BodiesBytes = max(l.BodiesBytes, l.BatchBodyBytes)
	return l
}

// server is the API over one Backend.
type server struct {
	backend tasker.Backend
	log     *slog.Logger
	keys    *access.Keyring
	ready   func(context.Context) error
	limits  Limits
	version string
	watcher Watcher

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

	buffers  sync.Pool
	idPrefix string
	lastID   atomic.Uint64
	bodies   bodyBudget
	streams  openStreams
	workers  workerScopes
	used     keyUse
}

// New returns the API over a Backend as one handler. The Backend stays the
// caller's to close. New panics when the API cannot be built from its types,
// which no input can cause.
func New(backend tasker.Backend, opts Options) http.Handler {
	s := &server{
		backend: backend, log: opts.Logger, keys: opts.Keys, ready: opts.Ready,
		limits: opts.Limits.withDefaults(), version: opts.Version, watcher: opts.Watcher,
		mux: http.NewServeMux(), registry: newRegistry(), hot: map[string]bool{}, methods: map[string][]string{}, typed: map[string][]string{}, integers: map[string][]string{},
		buffers:  sync.Pool{New: func() any { return new(bytes.Buffer) }},
		idPrefix: rand.Text()[:8] + "-",
	}
	s.bodies.limit = s.limits.BodiesBytes
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
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
	var h http.Handler = s.mux
	if opts.LoopbackOnly {
		h = s.addressedHere(h)
	}
	return s.observe(s.sameOrigin(h))
}

// addressedHere refuses requests that name another host than this machine.
func (s *server) addressedHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLoopback(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		s.refuseHTTP(w, r, "foreign host", &tasker.Error{Code: tasker.CodeForbidden,
			Message: "a server without API keys answers only to localhost and loopback addresses",
			Hint:    "use http://127.0.0.1, add an API key, or set server.allow_open"})
	})
}

// isLoopback reports whether the Host of a request, with or without a port, is
// a name that only this machine has for itself.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameOrigin refuses what a web page of another origin makes a browser send: an
// open server on a laptop is reachable by every page its user visits.
func (s *server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuseHTTP(w, r, "cross-origin", tasker.Errorf(tasker.CodeForbidden, "requests from web pages of another origin are refused"))
	}))
	return protection.Handler(next)
}

package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/access"
)

// Options configures New. The zero value serves every caller and logs nothing.
type Options struct {
	// Logger receives one line per request, and the internal detail of a 500. Defaults to no log.
	Logger *slog.Logger
	// Keys are the API keys. Without keys every caller may do everything.
	Keys *access.Keyring
	// KeyUse records the use of keys. Defaults to none.
	KeyUse KeyUse
	// Watcher observes requests. Defaults to none.
	Watcher Watcher
	// BodiesBytes bounds the sum of the bodies being received at one time, in bytes. Defaults to 256 MiB.
	BodiesBytes int64
}

// Front is the shared state of the handlers of one process. It is safe for concurrent use.
type Front struct {
	log     *slog.Logger
	keys    *access.Keyring
	keyUse  KeyUse
	watcher Watcher

	idPrefix string // of request IDs
	lastID   atomic.Uint64
	bodies   bodyBudget
	used     keyDays
}

// New returns a Front without mounts.
func New(opts Options) *Front {
	f := &Front{log: opts.Logger, keys: opts.Keys, keyUse: opts.KeyUse, watcher: opts.Watcher,
		idPrefix: rand.Text()[:8] + "-"}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.bodies.limit = opts.BodiesBytes
	if f.bodies.limit <= 0 {
		f.bodies.limit = 256 << 20
	}
	return f
}

// Log returns the log of the process, never nil.
func (f *Front) Log() *slog.Logger { return f.log }

// Policy selects the checks of Mount before the handler. The zero value selects none.
type Policy struct {
	// Observe gives the request an ID and the response security headers, logs the request, reports it to the
	// Watcher, and converts a panic to a 500.
	Observe bool
	// Quiet selects, by the pattern of the route, the requests logged at level debug. nil: none.
	Quiet func(pattern string) bool
	// SameOrigin refuses requests that a web page of another origin makes a browser send.
	SameOrigin bool
	// LoopbackOnly refuses requests that are not addressed to localhost or a loopback address: to a browser,
	// a page whose name resolves to this machine (DNS rebinding) is of the same origin. For servers without
	// keys.
	LoopbackOnly bool
	// Needs are the permissions of which the request's API key must have one. None: the request needs no key,
	// or the handler calls Admit.
	Needs []access.Permission
	// AllNamespaces refuses keys that are limited to namespaces. Its value is the plural noun of the content
	// that spans all of them, such as "metrics"; "" refuses none.
	AllNamespaces string
	// BodyBytes bounds the body of a request, in bytes, and the time to send it. 0: the handler bounds it
	// with ReadBody.
	BodyBytes int64
}

// Mount returns h behind the checks of the policy, which run in the order of the fields of Policy.
func (f *Front) Mount(p Policy, h http.Handler) http.Handler {
	if p.BodyBytes > 0 {
		h = f.limitBody(p.BodyBytes, h)
	}
	if len(p.Needs) > 0 {
		h = f.authenticate(p, h)
	}
	if p.LoopbackOnly {
		h = f.addressedHere(h)
	}
	if p.SameOrigin {
		h = f.sameOrigin(h)
	}
	if p.Observe {
		h = f.observe(p.Quiet, h)
	}
	return h
}

// under serves a request under another context, and records for the caller which route matched.
func under(ctx context.Context, w http.ResponseWriter, r *http.Request, next http.Handler) {
	inner := r.WithContext(ctx)
	defer func() { r.Pattern = inner.Pattern }()
	next.ServeHTTP(w, inner)
}

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
	Logger  *slog.Logger
	Keys    *access.Keyring
	KeyUse  KeyUse
	Watcher Watcher
	// BodiesBytes bounds the sum of the bodies in reception, in bytes. Defaults to 256 MiB.
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
	// Observe adds a request ID and security headers, logs the request, reports it to the Watcher, and converts a panic
	// to a 500.
	Observe bool
	// Quiet selects the requests logged at level debug, by the pattern of the route. nil: none.
	Quiet func(pattern string) bool
	// SameOrigin refuses requests of web pages of another origin.
	SameOrigin bool
	// LoopbackOnly refuses requests that are not addressed to localhost or a loopback address: to a browser, a page
	// whose name resolves to this machine (DNS rebinding) has the same origin. For servers without keys.
	LoopbackOnly bool
	// Needs are permissions of which the key must have one. None: no key is required, or the handler calls Admit.
	Needs []access.Permission
	// AllNamespaces refuses keys that are limited to namespaces. Its value is the plural noun of the content of all
	// namespaces, such as "metrics"; "" refuses none.
	AllNamespaces string
	// BodyBytes bounds the body of a request, in bytes, and the time to send it. 0: the handler bounds it with
	// ReadBody.
	BodyBytes int64
}

// Mount returns h behind the checks of the policy, in the order of its fields.
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

// under serves a request under another context, and reports the matched route to the caller.
func under(ctx context.Context, w http.ResponseWriter, r *http.Request, next http.Handler) {
	inner := r.WithContext(ctx)
	defer func() { r.Pattern = inner.Pattern }()
	next.ServeHTTP(w, inner)
}

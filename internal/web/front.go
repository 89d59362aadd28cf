package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/access"
)

// Options tune New. The zero value serves everybody and logs nothing.
type Options struct {
	// Logger gets a line per request, and what a 500 hides from the client.
	// Defaults to no log.
	Logger *slog.Logger
	// Keys are the API keys. Without any, everybody may do everything.
	Keys *access.Keyring
	// KeyUse stores which keys are in use. Defaults to storing nothing.
	KeyUse KeyUse
	// Watcher is told of requests. Defaults to none.
	Watcher Watcher
	// BodiesBytes bounds the bodies that are being received at one time, together, in
	// bytes. Defaults to 256 MiB.
	BodiesBytes int64
}

// Front is what the handlers of one process share. It is safe for concurrent use.
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

// New returns a Front with nothing mounted on it.
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

// Log is the log of the process.
func (f *Front) Log() *slog.Logger { return f.log }

// Policy says what Mount does with a request before the handler sees it. The
// zero value does nothing: a handler gets what its policy names.
type Policy struct {
	// Observe gives the request an ID and the answer security headers, logs the
	// request, tells the Watcher of it, and turns a panic into a 500.
	Observe bool
	// Quiet says, by the pattern of the route, which requests are logged at level
	// debug. nil: none.
	Quiet func(pattern string) bool
	// SameOrigin refuses what a web page of another origin makes a browser send.
	SameOrigin bool
	// LoopbackOnly refuses requests that are not addressed to localhost or a
	// loopback address: a page whose name resolves to this machine (DNS
	// rebinding) is of no other origin to a browser. For servers without keys.
	LoopbackOnly bool
	// Needs are the permissions of which the request's API key must have one. None:
	// the request needs no key, or the handler calls Admit.
	Needs []access.Permission
	// AllNamespaces refuses keys that are limited to namespaces. It says in plural
	// what the handler shows of all of them, "metrics"; "" refuses none.
	AllNamespaces string
	// BodyBytes bounds the body of a request, in bytes, and the time to send it. 0:
	// the handler bounds it, with ReadBody.
	BodyBytes int64
}

// Mount returns h behind what the policy names. Checks run in the order of the
// fields of Policy.
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

// under serves a request under another context, and keeps for the caller which route took it.
func under(ctx context.Context, w http.ResponseWriter, r *http.Request, next http.Handler) {
	inner := r.WithContext(ctx)
	defer func() { r.Pattern = inner.Pattern }()
	next.ServeHTTP(w, inner)
}

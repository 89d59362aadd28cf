// Package session signs people in to the dashboard with an API key.
//
// A session is a random token in a cookie; the store has its SHA-256, the name of the key and its end. A session is
// valid on every node and survives restarts. It ends when it expires, when its owner signs out, and when its key is not
// configured or another key has its name. Nodes remember a session for ten seconds, so a sign-out takes effect
// immediately on its node, and within ten seconds on the others.
//
// A database restored from a backup has sessions that ended since, until they expire: at most 12 hours after their
// sign-in. Replace the key if that matters.
//
// Wrong keys are bounded by the address of the connection. Viewers behind one proxy share that bound, and any client
// can use the common one up: then sign-ins fail for the rest of the minute, while existing sessions continue.
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Store keeps sessions.
type Store interface {
	SaveSession(ctx context.Context, s access.Session) error
	// FindSession returns a session, perhaps an expired one, or nil.
	FindSession(ctx context.Context, hash [32]byte) (*access.Session, error)
	EndSession(ctx context.Context, hash [32]byte) error
	// EndSessions ends all sessions of a key, and returns their number.
	EndSessions(ctx context.Context, key string) (int, error)
}

// Options configure a Keeper.
type Options struct {
	Keys  *access.Keyring
	Store Store
	// Defaults to time.Now.
	Now func() time.Time
	// Defaults to 12 hours.
	Lifetime time.Duration
}

// Keeper signs people in and out. It is safe for concurrent use.
type Keeper struct {
	keys     *access.Keyring
	store    Store
	now      func() time.Time
	lifetime time.Duration
	known    known
	attempts attempts
}

// New returns a Keeper.
func New(opts Options) *Keeper {
	k := &Keeper{keys: opts.Keys, store: opts.Store, now: opts.Now, lifetime: opts.Lifetime}
	if k.now == nil {
		k.now = time.Now
	}
	if k.lifetime <= 0 {
		k.lifetime = 12 * time.Hour
	}
	return k
}

const cookieName = "tasker_session"

func token(r *http.Request) []byte {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(raw) != tokenBytes {
		return nil
	}
	return raw
}

const tokenBytes = 32

// Principal returns the viewer of a request, or nil. An error means that the store does not answer, not that the
// session has ended.
func (k *Keeper) Principal(r *http.Request) (*access.Principal, error) {
	raw := token(r)
	if raw == nil {
		return nil, nil
	}
	s, err := k.find(r.Context(), sha256.Sum256(raw))
	if err != nil {
		return nil, err
	}
	return k.valid(s), nil
}

// find returns a session, or nil. It may have expired, or ended on another node ten seconds ago.
func (k *Keeper) find(ctx context.Context, hash [32]byte) (*access.Session, error) {
	now := k.now()
	s, fresh, ends := k.known.get(hash, now)
	if fresh {
		return s, nil
	}
	s, err := k.store.FindSession(ctx, hash)
	if err != nil {
		return nil, err
	}
	k.known.put(hash, s, now, ends) // ten seconds from the read: the answer may have been slow
	return s, nil
}

// valid returns the principal of a valid session, else nil. A session from the future comes from a wrong clock: it
// would last too long.
func (k *Keeper) valid(s *access.Session) *access.Principal {
	now := k.now()
	if s == nil || !now.Before(s.ExpiresAt) || s.ExpiresAt.Sub(now) > 2*k.lifetime {
		return nil
	}
	p := k.keys.Named(s.Key)
	if p == nil || p.ID() != s.KeyID {
		return nil
	}
	return p
}

// SignIn begins a session for an API key and sets its cookie. Errors: CodeUnauthenticated; CodeForbidden for a key that
// cannot read; CodeExhausted after too many attempts.
func (k *Keeper) SignIn(w http.ResponseWriter, r *http.Request, secret string) error {
	now := k.now()
	var p *access.Principal
	wait := k.attempts.try(r.RemoteAddr, now, func() bool {
		p = k.keys.Authenticate(secret)
		return p != nil
	})
	if wait > 0 {
		return &tasker.Error{Code: tasker.CodeExhausted, Message: "there were too many attempts to sign in: wait a minute",
			RetryAfter: wait}
	}
	if p == nil {
		return tasker.Errorf(tasker.CodeUnauthenticated, "the API key is unknown")
	}
	if !p.Can(access.Read, access.DeadLettersRead) {
		return &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + p.Name + " lacks the permission read",
			Hint: "use a key that may read"}
	}
	var raw [tokenBytes]byte
	_, _ = rand.Read(raw[:]) // never fails: it crashes the program instead
	err := k.store.SaveSession(access.With(r.Context(), p), access.Session{Hash: sha256.Sum256(raw[:]),
		Key: p.Name, KeyID: p.ID(), CreatedAt: now, ExpiresAt: now.Add(k.lifetime)})
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: base64.RawURLEncoding.EncodeToString(raw[:]), Path: "/",
		MaxAge: int(k.lifetime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: encrypted(r)})
	return nil
}

// encrypted reports whether the browser reached the server, or the proxy before it, over TLS. A false claim only harms
// the browser that makes it.
func encrypted(r *http.Request) bool {
	// The first of several proxies is the one that the browser reached.
	outer, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return r.TLS != nil || strings.EqualFold(strings.TrimSpace(outer), "https")
}

// SignOut ends the session of a request.
func (k *Keeper) SignOut(w http.ResponseWriter, r *http.Request) error {
	if raw := token(r); raw != nil {
		if err := k.end(r.Context(), sha256.Sum256(raw)); err != nil {
			return err
		}
	}
	clearCookie(w, r)
	return nil
}

// end writes nothing for a missing session: anyone may send any cookie.
func (k *Keeper) end(ctx context.Context, hash [32]byte) error {
	s, err := k.find(ctx, hash)
	if err != nil || s == nil {
		return err
	}
	if err := k.store.EndSession(ctx, hash); err != nil {
		return err
	}
	k.known.forget()
	return nil
}

// SignOutEverywhere ends all sessions of the key of a request.
func (k *Keeper) SignOutEverywhere(w http.ResponseWriter, r *http.Request) error {
	p, err := k.Principal(r)
	if err != nil {
		return err
	}
	if p != nil {
		if _, err := k.store.EndSessions(access.With(r.Context(), p), p.Name); err != nil {
			return err
		}
		k.known.forget()
	}
	clearCookie(w, r)
	return nil
}

func clearCookie(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: encrypted(r)})
}

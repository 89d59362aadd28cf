package session_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/session"
	"github.com/taskerhq/tasker/internal/model/access"
)

// store keeps sessions in memory, and counts calls.
type store struct {
	mu     sync.Mutex
	all    map[[32]byte]access.Session
	asks   int
	writes int
	err    error
	// found, if set, runs between the read of a session and its return.
	found func()
}

func (s *store) SaveSession(_ context.Context, one access.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[32]byte]access.Session{}
	}
	s.all[one.Hash] = one
	return s.err
}

func (s *store) FindSession(_ context.Context, hash [32]byte) (*access.Session, error) {
	s.mu.Lock()
	s.asks++
	one, ok := s.all[hash]
	err, found := s.err, s.found
	s.mu.Unlock()
	if err != nil || !ok {
		return nil, err
	}
	if found != nil {
		found()
	}
	return &one, nil
}

func (s *store) EndSession(_ context.Context, hash [32]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	delete(s.all, hash)
	return s.err
}

func (s *store) EndSessions(_ context.Context, key string) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for hash, one := range s.all {
		if one.Key == key {
			delete(s.all, hash)
			n++
		}
	}
	return n, s.err
}

type desk struct {
	*session.Keeper
	t          *testing.T
	store      *store
	now        time.Time
	ann, ben   string // keys
	annHash    string
	mayNothing string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: &store{}, now: time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)}
	var benHash, otherHash string
	d.ann, d.annHash = access.Generate()
	d.ben, benHash = access.Generate()
	d.mayNothing, otherHash = access.Generate()
	d.open(access.Key{Name: "ann", SHA256: d.annHash, Permissions: []string{"admin"}},
		access.Key{Name: "ben", SHA256: benHash, Permissions: []string{"read"}},
		access.Key{Name: "worker", SHA256: otherHash, Permissions: []string{"work"}})
	return d
}

// open starts a node with these keys, on the same store.
func (d *desk) open(keys ...access.Key) {
	d.t.Helper()
	ring, err := access.New(keys)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Keeper = session.New(session.Options{Keys: ring, Store: d.store, Now: func() time.Time { return d.now }})
}

func request(from string, cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://tasker.test/", nil)
	r.RemoteAddr = from
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func (d *desk) signIn(secret string) *http.Cookie {
	d.t.Helper()
	w := httptest.NewRecorder()
	if err := d.SignIn(w, request("192.0.2.1:1"), secret); err != nil {
		d.t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

// who returns the name of the key of a cookie, "" for none.
func (d *desk) who(c *http.Cookie) string {
	d.t.Helper()
	p, err := d.Principal(request("192.0.2.1:1", c))
	if err != nil {
		d.t.Fatal(err)
	}
	if p == nil {
		return ""
	}
	return p.Name
}

func (d *desk) mustBe(c *http.Cookie, want string) {
	d.t.Helper()
	if got := d.who(c); got != want {
		d.t.Errorf("signed in as %q, want %q", got, want)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ben)
	d.mustBe(c, "ben")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge != 12*3600 || c.Secure {
		t.Errorf("the cookie is %+v", c)
	}
	for hash, s := range d.store.all {
		if strings.Contains(c.Value, string(hash[:8])) || s.KeyID == "" || strings.Contains(d.annHash, s.KeyID) {
			t.Errorf("the store has the secret of a session or a key: %+v", s)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"TLS":   func(r *http.Request) { r.TLS = &tls.ConnectionState{} },
		"Proxy": func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") },
	} {
		w, r := httptest.NewRecorder(), request("192.0.2.1:1")
		change(r)
		if err := d.SignIn(w, r, d.ann); err != nil || !w.Result().Cookies()[0].Secure {
			t.Errorf("%s: the cookie is not Secure: %v", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, c := range map[string]struct {
		secret string
		want   tasker.Code
	}{
		"None": {"", tasker.CodeUnauthenticated}, "Unknown": {"tsk_x", tasker.CodeUnauthenticated},
		"TheHash": {d.annHash, tasker.CodeUnauthenticated}, "MayNotRead": {d.mayNothing, tasker.CodeForbidden},
	} {
		w := httptest.NewRecorder()
		err := d.SignIn(w, request("192.0.2.9:1"), c.secret)
		if tasker.ErrorCode(err) != c.want || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, value := range []string{"", "YWJj", "!!!", strings.Repeat("A", 43), strings.Repeat("A", 5000)} {
		d.mustBe(&http.Cookie{Name: "tasker_session", Value: value}, "")
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	t.Run("Expires", func(t *testing.T) {
		c := d.signIn(d.ann)
		d.now = d.now.Add(12*time.Hour - time.Second)
		d.mustBe(c, "ann")
		d.now = d.now.Add(time.Second)
		d.mustBe(c, "")
	})
	t.Run("ClockSetBack", func(t *testing.T) {
		c := d.signIn(d.ann)
		d.now = d.now.Add(-13 * time.Hour)
		d.mustBe(c, "")
		d.now = d.now.Add(13 * time.Hour)
		d.mustBe(c, "ann")
	})
	t.Run("SignOut", func(t *testing.T) {
		a, b := d.signIn(d.ann), d.signIn(d.ann)
		d.mustBe(a, "ann")
		w := httptest.NewRecorder()
		if err := d.SignOut(w, request("192.0.2.1:1", a)); err != nil || w.Result().Cookies()[0].MaxAge >= 0 {
			t.Errorf("sign out: %v, cookies %v", err, w.Result().Cookies())
		}
		d.mustBe(a, "")
		d.mustBe(b, "ann")
	})
	t.Run("Everywhere", func(t *testing.T) {
		a, b, ben := d.signIn(d.ann), d.signIn(d.ann), d.signIn(d.ben)
		if err := d.SignOutEverywhere(httptest.NewRecorder(), request("192.0.2.1:1", a)); err != nil {
			t.Error(err)
		}
		d.mustBe(a, "")
		d.mustBe(b, "")
		d.mustBe(ben, "ben")
	})
	t.Run("KeyReplaced", func(t *testing.T) {
		c := d.signIn(d.ann)
		_, hash := access.Generate()
		d.open(access.Key{Name: "ann", SHA256: hash, Permissions: []string{"admin"}})
		d.mustBe(c, "")
		d.open()
		d.mustBe(c, "")
		d.open(access.Key{Name: "ann", SHA256: d.annHash, Permissions: []string{"read"}})
		d.mustBe(c, "ann") // the same key again
	})
}

func TestRemembered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ann)
	for range 10_000 {
		d.mustBe(c, "ann")
	}
	if d.store.asks != 1 {
		t.Errorf("the store was asked %d times", d.store.asks)
	}
	elsewhere := d.Keeper // another node ends the session
	d.open(access.Key{Name: "ann", SHA256: d.annHash, Permissions: []string{"admin"}})
	if err := d.SignOut(httptest.NewRecorder(), request("192.0.2.1:1", c)); err != nil {
		t.Fatal(err)
	}
	d.Keeper = elsewhere
	d.now = d.now.Add(10 * time.Second)
	d.mustBe(c, "")
}

func TestStoreDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ann)
	d.store.err = errors.New("down")
	if p, err := d.Principal(request("192.0.2.1:1", c)); err == nil || p != nil {
		t.Errorf("Principal = %v, %v: who is signed in is not known", p, err)
	}
	d.store.err = nil
	d.mustBe(c, "ann") // the error is not remembered
}

func TestWrongKeys(t *testing.T) {
	t.Parallel()
	try := func(d *desk, from, secret string) error {
		return d.SignIn(httptest.NewRecorder(), request(from), secret)
	}
	t.Run("OneClient", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		for i := range 10 {
			err := try(d, fmt.Sprintf("[2001:db8::%x]:1", i+1), "tsk_x")
			if tasker.ErrorCode(err) != tasker.CodeUnauthenticated {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		err := try(d, "[2001:db8::ffff]:1", d.ann) // the same network, even with the right key
		var e *tasker.Error
		if !errors.As(err, &e) || e.Code != tasker.CodeExhausted || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
			t.Errorf("the eleventh attempt: %v", err)
		}
		if err := try(d, "192.0.2.7:1", d.ann); err != nil {
			t.Errorf("another client: %v", err)
		}
		d.now = d.now.Add(time.Minute)
		if err := try(d, "[2001:db8::1]:1", d.ann); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
	t.Run("AllClients", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		exhausted := 0
		for i := range 10_000 {
			err := try(d, fmt.Sprintf("10.%d.%d.1:1", i/250, i%250), "tsk_x")
			if tasker.ErrorCode(err) == tasker.CodeExhausted {
				exhausted++
			}
		}
		if exhausted != 9900 {
			t.Errorf("%d of 10,000 attempts were refused unseen, want 9,900", exhausted)
		}
	})
}

// acting is an act with a token, sent by a script or as a form.
func acting(token string, script bool, cookies ...*http.Cookie) *http.Request {
	r := request("192.0.2.1:1", cookies...)
	r.PostForm = url.Values{}
	if script {
		r.Header.Set("X-CSRF-Token", token)
	} else {
		r.PostForm.Set("csrf", token)
	}
	return r
}

func TestTokens(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ann, ben := d.signIn(d.ann), d.signIn(d.ben)
	w := httptest.NewRecorder()
	anonymous := d.Token(w, request("192.0.2.1:1"))
	form := w.Result().Cookies()[0]
	token := d.Token(httptest.NewRecorder(), request("192.0.2.1:1", ann))
	changed := "A" + token[1:]
	if changed == token {
		changed = "B" + token[1:]
	}
	if again := d.Token(httptest.NewRecorder(), request("192.0.2.1:1", ann)); again == token {
		t.Error("two tokens are the same")
	}
	for _, script := range []bool{true, false} {
		if err := d.Check(acting(token, script, ann)); err != nil {
			t.Errorf("the token of the session: %v", err)
		}
		if err := d.Check(acting(anonymous, script, form)); err != nil {
			t.Errorf("the token of a viewer without a session: %v", err)
		}
		for name, r := range map[string]*http.Request{
			"None": acting("", script, ann), "OfAnother": acting(token, script, ben), "NoCookie": acting(token, script),
			"Changed": acting(changed, script, ann), "Short": acting(token[:20], script, ann),
			"NotBase64": acting("???", script, ann), "Anonymous": acting(anonymous, script, ann, form),
		} {
			if err := d.Check(r); tasker.ErrorCode(err) != tasker.CodeForbidden {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	d.open() // another node, without keys
	if err := d.Check(acting(anonymous, true, form)); err != nil {
		t.Errorf("the token at another node: %v", err)
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			w := httptest.NewRecorder()
			if err := d.SignIn(w, request("192.0.2.1:1"), d.ann); err != nil {
				t.Error(err)
				return
			}
			if p, err := d.Principal(request("192.0.2.1:1", w.Result().Cookies()[0])); err != nil || p == nil {
				t.Errorf("Principal = %v, %v", p, err)
			}
		})
	}
	all.Wait()
	if len(d.store.all) != 50 {
		t.Errorf("%d sessions were stored", len(d.store.all))
	}
}

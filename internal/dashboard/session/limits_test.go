package session_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// TestWrongKeysAtOnce: concurrent attempts do not exceed the bound.
func TestWrongKeysAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var all sync.WaitGroup
	var seen, refused atomic.Int64
	for range 200 {
		all.Go(func() {
			err := d.SignIn(httptest.NewRecorder(), request("192.0.2.1:1"), "tsk_x")
			switch tasker.ErrorCode(err) {
			case tasker.CodeUnauthenticated:
				seen.Add(1)
			case tasker.CodeExhausted:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if seen.Load() != 10 || refused.Load() != 190 {
		t.Errorf("%d attempts were looked up and %d refused, want 10 and 190", seen.Load(), refused.Load())
	}
}

// TestSignInsAreBounded: each sign-in stores a session, so an address has a bound per minute.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 61 {
		err := d.SignIn(httptest.NewRecorder(), request("192.0.2.1:1"), d.ann)
		if limited := tasker.ErrorCode(err) == tasker.CodeExhausted; limited != (i == 60) || !limited && err != nil {
			t.Errorf("sign-in %d: %v", i, err)
		}
	}
	if err := d.SignIn(httptest.NewRecorder(), request("192.0.2.2:1"), d.ann); err != nil {
		t.Errorf("from another address: %v", err)
	}
	if len(d.store.all) != 61 {
		t.Errorf("61 sign-ins made %d sessions", len(d.store.all))
	}
	d.now = d.now.Add(time.Minute)
	if err := d.SignIn(httptest.NewRecorder(), request("192.0.2.1:1"), d.ann); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// stranger is a cookie in the form of a session's, without a session.
func stranger(i int) *http.Cookie {
	var raw [32]byte
	binary.BigEndian.PutUint64(raw[:], uint64(i))
	return &http.Cookie{Name: "tasker_session", Value: base64.RawURLEncoding.EncodeToString(raw[:])}
}

// TestMemoryIsBounded: invented cookies do not fill the memory. A forgotten session is looked up again.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ann)
	d.mustBe(c, "ann")
	for i := range 10_000 {
		d.mustBe(stranger(i), "")
	}
	asks := d.store.asks
	d.mustBe(c, "ann")
	if d.store.asks != asks+1 {
		t.Error("10,000 other sessions are in memory, and this one still is")
	}
}

// TestSignOutDuringALook: a session that was read before a sign-out is not remembered after it.
func TestSignOutDuringALook(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*desk, *http.Cookie) error{
		"SignOut": func(d *desk, c *http.Cookie) error {
			return d.SignOut(httptest.NewRecorder(), request("192.0.2.1:1", c))
		},
		"Everywhere": func(d *desk, c *http.Cookie) error {
			return d.SignOutEverywhere(httptest.NewRecorder(), request("192.0.2.1:1", c))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			c := d.signIn(d.ann)
			d.store.found = func() {
				d.store.found = nil
				if err := end(d, c); err != nil {
					t.Error(err)
				}
			}
			d.mustBe(c, "ann") // it was, at the time of the read
			d.mustBe(c, "")
		})
	}
}

// TestSlowStore: the ten seconds until a node notices a sign-out at another one begin with the read.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ann)
	d.store.found = func() {
		d.store.found = nil
		d.now = d.now.Add(9 * time.Second)
	}
	d.mustBe(c, "ann")
	clear(d.store.all) // another node
	d.mustBe(c, "ann")
	d.now = d.now.Add(time.Second)
	d.mustBe(c, "")
}

// TestNothingIsWritten for a missing session: anyone can send cookies and forms.
func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, cookies := range [][]*http.Cookie{{stranger(1)}, {{Name: "tasker_session", Value: "?"}}, nil} {
		r := request("192.0.2.1:1", cookies...)
		for _, end := range []func(http.ResponseWriter, *http.Request) error{d.SignOut, d.SignOutEverywhere} {
			if err := end(httptest.NewRecorder(), r); err != nil {
				t.Error(err)
			}
		}
	}
	if d.store.writes != 0 {
		t.Errorf("%d writes", d.store.writes)
	}
}

// TestStoreDownAtSignIn: no answer claims a sign-in, or a sign-out, that did not happen.
func TestStoreDownAtSignIn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.signIn(d.ann)
	d.mustBe(c, "ann")
	d.store.err = errors.New("down")
	for name, act := range map[string]func(http.ResponseWriter, *http.Request) error{
		"SignIn":  func(w http.ResponseWriter, r *http.Request) error { return d.SignIn(w, r, d.ann) },
		"SignOut": d.SignOut, "Everywhere": d.SignOutEverywhere,
	} {
		w := httptest.NewRecorder()
		if err := act(w, request("192.0.2.1:1", c)); err == nil || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: error %v, cookies %v", name, err, w.Result().Cookies())
		}
	}
}

func TestSecureBehindProxies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for header, want := range map[string]bool{"https": true, "HTTPS": true, "https, http": true, " https ,http": true,
		"http": false, "http, https": false, "": false, "httpsx": false} {
		w, r := httptest.NewRecorder(), request("192.0.2.1:1")
		r.Header.Set("X-Forwarded-Proto", header)
		if err := d.SignIn(w, r, d.ann); err != nil || w.Result().Cookies()[0].Secure != want {
			t.Errorf("X-Forwarded-Proto %q: %v, %v", header, err, w.Result().Cookies())
		}
	}
}

// TestTokensOfOnePage: all belong to the one cookie that the page sets.
func TestTokensOfOnePage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	w, r := httptest.NewRecorder(), request("192.0.2.1:1")
	tokens := []string{d.Token(w, r), d.Token(w, r), d.Token(w, r)}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || cookies[0].Name != "tasker_form" || !cookies[0].HttpOnly ||
		cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" {
		t.Fatalf("the page sets %v", cookies)
	}
	for i, token := range tokens {
		if err := d.Check(acting(token, true, cookies...)); err != nil {
			t.Errorf("token %d: %v", i, err)
		}
	}
	d.open(access.Key{Name: "ann", SHA256: d.annHash, Permissions: []string{"admin"}}) // a restart
	if err := d.Check(acting(tokens[0], false, cookies...)); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

package post_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// What arrives: the payload, its type, and the headers that a request may have.
func TestSend(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	d := post.Open()
	defer d.Close()
	errs := d.Send(t.Context(), server.URL+"/orders", []driver.Message{{Payload: []byte(`{"n":1}`),
		Headers: []deadletter.Header{
			{Name: "tasker-letter", Value: []byte("L1")},
			{Name: "Host", Value: []byte("evil")},
			{Name: "Authorization", Value: []byte("secret")},
			{Name: "x-split", Value: []byte("a\r\nInjected: b")},
			{Name: "bad name", Value: []byte("x")},
		}}})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if string(body) != `{"n":1}` || got.Header.Get("Content-Type") != "application/json" || got.URL.Path != "/orders" {
		t.Errorf("the server got %s %s %q", got.URL, got.Header, body)
	}
	if got.Header.Get("tasker-letter") != "L1" || got.Header.Get("Authorization") != "" ||
		got.Header.Get("Injected") != "" ||
		strings.Contains(got.Host, "evil") {
		t.Errorf("headers %v, host %s", got.Header, got.Host)
	}
}

// Each status and each failure of the network means one thing.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	redirected := false
	mux := http.NewServeMux()
	answer := func(path string, status int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	answer("/ok", 204)
	answer("/gone", 410)
	answer("/large", 413)
	answer("/busy", 503)
	answer("/limit", 429)
	answer("/bad", 400)
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/trap", func(http.ResponseWriter, *http.Request) { redirected = true })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	closed := httptest.NewServer(mux)
	closed.Close()
	d := post.Open()
	defer d.Close()
	plain := errors.New("any")
	for target, want := range map[string]error{
		server.URL + "/ok": nil, server.URL + "/gone": driver.ErrNotFound, server.URL + "/large": driver.ErrTooLarge,
		server.URL + "/bad": driver.ErrRefused, server.URL + "/moved": driver.ErrRefused,
		server.URL + "/cut": driver.ErrUncertain, server.URL + "/busy": plain, server.URL + "/limit": plain,
		closed.URL + "/ok": plain, "ftp://host/x": driver.ErrNotFound, "orders": driver.ErrNotFound,
	} {
		err := d.Send(t.Context(), target, []driver.Message{{Payload: []byte("x")}})[0]
		switch {
		case want == plain:
			if err == nil || driver.Permanent(err) || errors.Is(err, driver.ErrUncertain) {
				t.Errorf("%s: %v, want an error that a retry may cure", target, err)
			}
		case !errors.Is(err, want):
			t.Errorf("%s: %v, want %v", target, err, want)
		}
	}
	if redirected {
		t.Error("a redirect was followed")
	}
}

// A caller that gives up while the answer is awaited cannot know.
func TestSendCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	defer server.Close()
	defer close(release)
	d := post.Open()
	defer d.Close()
	if err := d.Send(ctx, server.URL, []driver.Message{{Payload: []byte("x")}})[0]; !errors.Is(err, driver.ErrUncertain) {
		t.Errorf("%v, want %v", err, driver.ErrUncertain)
	}
}

package post_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// The payload, its type, and permitted headers arrive.
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
		}}}, driver.Limits{})
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
		server.URL + "/a/../ok": driver.ErrNotFound, server.URL + "/%2e%2e/ok": driver.ErrNotFound,
		strings.Replace(server.URL, "//", "//u:p@", 1) + "/ok": driver.ErrNotFound, server.URL + "/%6Fk": nil,
	} {
		err := d.Send(t.Context(), target, []driver.Message{{Payload: []byte("x")}}, driver.Limits{})[0]
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

// After a cancelled wait the outcome is uncertain.
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
	err := d.Send(ctx, server.URL, []driver.Message{{Payload: []byte("x")}}, driver.Limits{})[0]
	if !errors.Is(err, driver.ErrUncertain) {
		t.Errorf("%v, want %v", err, driver.ErrUncertain)
	}
}

// An unwritten message is not uncertain: a redrive would take it for sent.
func TestSendOutOfTime(t *testing.T) {
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
	uncertain, untried := 0, 0
	for i, err := range d.Send(ctx, server.URL, make([]driver.Message, 100), driver.Limits{}) {
		switch {
		case errors.Is(err, driver.ErrUncertain):
			uncertain++
		case errors.Is(err, driver.ErrUntried):
			untried++
		default:
			t.Errorf("message %d: %v", i, err)
		}
	}
	if uncertain == 0 || uncertain > 8 || untried != 100-uncertain {
		t.Errorf("%d uncertain, %d untried; at most one request of each lane was written", uncertain, untried)
	}
}

// Each request begun within the turn has its own time, and none is begun later, also with a slow endpoint.
func TestSlowEndpoint(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(400 * time.Millisecond): // it is slow
			served.Add(1)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	d := post.Open()
	defer d.Close()
	sent, untried := int64(0), 0
	for i, err := range d.Send(t.Context(), server.URL, make([]driver.Message, 500),
		driver.Limits{Until: time.Now().Add(time.Second)}) {
		switch {
		case err == nil:
			sent++
		case errors.Is(err, driver.ErrUntried):
			untried++
		default:
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if sent == 0 || untried == 0 || sent != served.Load() {
		t.Errorf("%d sent, %d untried; the server has served %d", sent, untried, served.Load())
	}
}

// A request without an answer may have arrived; one without a connection has not.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	d := post.Open()
	defer d.Close()
	limits := driver.Limits{Each: 300 * time.Millisecond}
	one := []driver.Message{{Payload: []byte("x")}}
	if err := d.Send(t.Context(), "http://"+silent.Addr().String(), one, limits)[0]; !errors.Is(err, driver.ErrUncertain) {
		t.Errorf("a server that does not answer: %v", err)
	}
	// The handshake gets no answer, so nothing of the request was written.
	err = d.Send(t.Context(), "https://"+silent.Addr().String(), one, limits)[0]
	if err == nil || driver.Permanent(err) || errors.Is(err, driver.ErrUncertain) {
		t.Errorf("a server that ends no handshake: %v", err)
	}
}

// A letter has one type: its own, in any spelling, or that of its payload.
func TestContentType(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header.Values("Content-Type")
	}))
	defer server.Close()
	d := post.Open()
	defer d.Close()
	for name, want := range map[string]string{"content-type": "text/csv", "CONTENT-TYPE": "text/csv",
		"other": "application/json"} {
		errs := d.Send(t.Context(), server.URL, []driver.Message{{Payload: []byte("1"),
			Headers: []deadletter.Header{{Name: name, Value: []byte("text/csv")}}}}, driver.Limits{})
		if errs[0] != nil || len(got) != 1 || got[0] != want {
			t.Errorf("with the header %s: %q, %v; want %s", name, got, errs[0], want)
		}
	}
}

// Messages of one key stay in order, and behind a transient failure.
func TestKeysInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, string(body)); string(body) == "b1" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	d := post.Open()
	defer d.Close()
	var messages []driver.Message
	for i := range 4 {
		for _, key := range []string{"a", "b"} {
			messages = append(messages, driver.Message{Key: []byte(key), Payload: fmt.Append(nil, key, i)})
		}
	}
	errs := d.Send(t.Context(), server.URL, messages, driver.Limits{})
	mu.Lock()
	defer mu.Unlock()
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if want := []string{"a0", "a1", "a2", "a3", "b0", "b1"}; !slices.Equal(got, want) {
		t.Errorf("the server got %v, want %v", got, want)
	}
	if !errors.Is(errs[5], driver.ErrBehind) || !errors.Is(errs[7], driver.ErrBehind) || errs[6] != nil {
		t.Errorf("the errors are %v", errs)
	}
}

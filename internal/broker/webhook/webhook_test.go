package webhook_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/webhook"
)

func secret(t *testing.T, text string) webhook.Secret {
	t.Helper()
	s, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The vector that libraries of the Standard Webhooks specification are tested with.
func TestSign(t *testing.T) {
	t.Parallel()
	key := secret(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	at := time.Unix(1614265330, 999)
	const id, payload, want = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`,
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := webhook.Sign([]webhook.Secret{key}, id, at, []byte(payload)); got != want {
		t.Errorf("the signature is %s", got)
	}
	old := secret(t, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 64)))
	both := strings.Fields(webhook.Sign([]webhook.Secret{key, old}, id, at, []byte(payload)))
	if len(both) != 2 || both[0] != want || both[1] == want || !strings.HasPrefix(both[1], "v1,") {
		t.Errorf("with two secrets it is %v", both)
	}
	for _, other := range []string{
		webhook.Sign([]webhook.Secret{key}, id+"x", at, []byte(payload)),
		webhook.Sign([]webhook.Secret{key}, id, at.Add(time.Second), []byte(payload)),
		webhook.Sign([]webhook.Secret{key}, id, at, []byte(payload+" ")),
	} {
		if other == want {
			t.Error("another message has the same signature")
		}
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for _, good := range []string{of(24), of(32), of(64)} {
		s := secret(t, good)
		if shown := fmt.Sprintf("%v %+v %#v %s", s, s, s, []webhook.Secret{s}); strings.Contains(shown, "0") {
			t.Errorf("a secret is printed as %s", shown)
		}
	}
	for _, bad := range []string{"", "whsec_", of(23), of(65), strings.TrimPrefix(of(32), "whsec_"), of(32) + "\n",
		"whsec_hunter2hunter2hunter2hunter2!", "WHSEC_" + of(32)[6:]} {
		_, err := webhook.ParseSecret(bad)
		if err == nil || len(bad) > 10 && strings.Contains(err.Error(), bad[8:]) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	key := secret(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	at := time.Unix(1614265330, 0)
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	s := webhook.NewSender()
	defer s.Close()
	to := &webhook.Endpoint{URL: server.URL + "/hook", Secrets: []webhook.Secret{key}}
	status, err := s.Send(t.Context(), to, webhook.Message{ID: "m1", At: at, Payload: []byte(`{"a":1}`)})
	if err != nil || status != 200 || string(body) != `{"a":1}` {
		t.Fatalf("%d, %v, %s", status, err, body)
	}
	if header.Get("webhook-id") != "m1" || header.Get("webhook-timestamp") != "1614265330" ||
		header.Get("webhook-signature") != webhook.Sign(to.Secrets, "m1", at, body) ||
		header.Get("Content-Type") != "application/json" {
		t.Errorf("headers are %v", header)
	}
}

// The verdict on each answer; no part of a URL is in an error.
func TestSendRefused(t *testing.T) {
	t.Parallel()
	followed := false
	mux := http.NewServeMux()
	for _, status := range []int{400, 401, 404, 408, 410, 425, 429, 500, 503} {
		mux.HandleFunc(fmt.Sprint("/token/", status), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		})
	}
	mux.HandleFunc("/token/307", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/trap", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.HandleFunc("/token/0", func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.Close()
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := webhook.NewSender()
	defer s.Close()
	send := func(ctx context.Context, url string) *webhook.Refusal {
		t.Helper()
		_, err := s.Send(ctx, &webhook.Endpoint{URL: url}, webhook.Message{ID: "m", At: time.Now()})
		var refusal *webhook.Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("%s: %v", url, err)
		}
		if strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the error shows the URL: %v", err)
		}
		return refusal
	}
	for status, permanent := range map[int]bool{400: true, 401: true, 404: true, 410: true, 307: true, 408: false,
		425: false, 429: false, 500: false, 503: false, 0: false} {
		got := send(t.Context(), fmt.Sprintf("%s/token/%d", server.URL, status))
		wait := 7 * time.Second
		if status == 0 || status == 307 {
			wait = 0
		}
		if got.Status != status || got.Permanent != permanent || got.RetryAfter != wait {
			t.Errorf("%d: %+v", status, got)
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
	closed := httptest.NewServer(mux)
	closed.Close()
	if got := send(t.Context(), closed.URL+"/token"); got.Permanent || got.Status != 0 {
		t.Errorf("no connection: %+v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := send(ended, server.URL+"/token/500"); got.Permanent {
		t.Errorf("interrupted: %+v", got)
	}
}

// Retry-After may be a number or a date, and is bounded.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	header := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", header)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	s := webhook.NewSender()
	defer s.Close()
	for _, c := range []struct {
		header string
		want   time.Duration
	}{{"", 0}, {"0", 0}, {"-5", 0}, {"120", 2 * time.Minute}, {"99999999999", 24 * time.Hour}, {"soon", 0},
		{now.Add(time.Hour).Format(http.TimeFormat), time.Hour}, {now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{now.Add(99 * time.Hour).Format(http.TimeFormat), 24 * time.Hour}} {
		header = c.header
		_, err := s.Send(t.Context(), &webhook.Endpoint{URL: server.URL}, webhook.Message{At: now})
		var refusal *webhook.Refusal
		if !errors.As(err, &refusal) || refusal.RetryAfter != c.want {
			t.Errorf("%q: %+v, want %s", c.header, refusal, c.want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	some := &webhook.Endpoint{URL: "https://ann:pw@hooks.example/services/T0/secret?x=y", Events: []string{"group.new"},
		Namespaces: []string{"shop"}}
	all := &webhook.Endpoint{URL: "http://host:81"}
	if !some.Wants("group.new", "shop") || some.Wants("group.new", "mill") || some.Wants("source.lost", "shop") ||
		!all.Wants("source.lost", "mill") || all.Wants("", "mill") {
		t.Error("they want other events")
	}
	if some.Shown() != "https://hooks.example/..." || all.Shown() != "http://host:81" || webhook.ShowURL("%") != "" {
		t.Errorf("shown as %s and %s", some.Shown(), all.Shown())
	}
	for text, good := range map[string]bool{some.URL: true, all.URL: true, "": false, "ftp://h": false, "hooks": false,
		"https://": false, "https://h/#x": false, "https://h/" + strings.Repeat("x", 2048): false, "https://h/%zz": false} {
		if fault := webhook.URLFault(text); (fault == "") != good || strings.Contains(fault, "zz") {
			t.Errorf("%.40q: %q", text, fault)
		}
	}
}

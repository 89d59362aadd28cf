package probe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/kit/probe"
)

var loopback = []string{"127.0.0.0/8", "::1/128"}

func ask(t *testing.T, allow []string, timeout time.Duration, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return asked(t, allow, timeout, server.URL)
}

func asked(t *testing.T, allow []string, timeout time.Duration, url string) string {
	t.Helper()
	c, err := probe.New(allow, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return c.Ask(t.Context(), url)
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"Well": {status(200, `{"status":"ok"}`), ""},
		"NotWell": {status(503, `{"checks":{"memory":{"ok":false},"cpu":{"ok":true},"heartbeat":{"ok":false}}}`),
			"status 503: memory, heartbeat"},
		"NotRepeated": {status(500, `{"checks":{"secret":{"ok":false}}, "password":"hunter2"}`), "status 500"},
		"NoJSON":      {status(404, "what?"), "status 404"},
		"Redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("the redirect was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, "status 302"},
		"Path": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" || r.URL.RawQuery != "" {
				w.WriteHeader(http.StatusTeapot)
			}
		}, ""},
		"EndlessBody": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return // it was not read to an end
				}
			}
		}, ""},
		"HugeHeader": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 64<<10)) },
			"the connection failed, or the answer was not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, loopback, 5*time.Second, c.handler); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAskNobody(t *testing.T) {
	t.Parallel()
	const refused = "its address is in no network that may be asked (engine.worker_probes.allow)"
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	reached := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(reached.Close)
	port := reached.URL[strings.LastIndex(reached.URL, ":"):]
	for name, c := range map[string]struct {
		allow     []string
		url, want string
	}{
		"NotOnTheList":  {[]string{"10.0.0.0/8"}, reached.URL, refused},
		"NameOfOneNot":  {[]string{"10.0.0.0/8"}, "http://localhost" + port, refused},
		"MappedAddress": {[]string{"10.0.0.0/8", "::/0"}, "http://[::ffff:127.0.0.1]" + port, refused},
		"LinkLocal":     {loopback, "http://169.254.169.254/latest", refused},
		"Closed":        {loopback, closed.URL, "connection refused"},
		"UnknownHost":   {loopback, "http://no-such-host.invalid", "the name of its host is not known"},
		"File":          {loopback, "file:///etc/passwd", "the address is none of http or https"},
		"User":          {loopback, "http://user:hunter2@127.0.0.1" + port, "the address is none of http or https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := asked(t, c.allow, 5*time.Second, c.url); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAskInVain(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	got := ask(t, loopback, 50*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	close(stop)
	if want := "no answer within 50ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBadNetwork(t *testing.T) {
	t.Parallel()
	if _, err := probe.New([]string{"10.0.0.0"}, time.Second); err == nil {
		t.Error("an address is not a network")
	}
}

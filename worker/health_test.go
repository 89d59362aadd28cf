package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type wellness struct {
	code     int
	Status   string `json:"status"`
	Worker   string `json:"worker"`
	WorkerID string `json:"worker_id"`
	Load     int    `json:"current_load"`
	Capacity int    `json:"capacity"`
	Checks   map[string]struct {
		OK    bool     `json:"ok"`
		Value *float64 `json:"value"`
		Limit *float64 `json:"limit"`
	} `json:"checks"`
}

func (w wellness) ill() string {
	var names []string
	for _, name := range []string{"memory", "cpu", "goroutines", "heartbeat"} {
		if !w.Checks[name].OK {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// anyLoad are limits that no test machine exceeds.
func anyLoad() *worker.Health {
	return &worker.Health{MaxMemoryPercent: -1, MaxCPUPercent: -1, MaxGoroutines: -1, URL: "http://10.0.0.7:1"}
}

func askHandler(t *testing.T, w *worker.Worker) wellness {
	t.Helper()
	rec := httptest.NewRecorder()
	w.HealthHandler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/health", nil))
	return parse(t, rec.Code, rec.Body)
}

func parse(t *testing.T, code int, body io.Reader) wellness {
	t.Helper()
	got := wellness{code: code}
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestHealthHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{Name: "w", Concurrency: 4, Health: anyLoad()})
		release := make(chan struct{})
		w.Handle("h", func(context.Context, *worker.Job) (any, error) { <-release; return nil, nil })
		if got := askHandler(t, w); got.code != 503 || got.Status != "unhealthy" || got.ill() != "heartbeat" {
			t.Errorf("before it runs: %+v", got)
		}

		r := run(t, w)
		f.put(step("h"))
		synctest.Wait()
		time.Sleep(15 * time.Second) // one heartbeat, and 5 s
		got := askHandler(t, w)
		if got.code != 200 || got.Status != "ok" || got.ill() != "" || got.Worker != "w" || got.WorkerID == "" ||
			got.Load != 1 || got.Capacity != 4 {
			t.Errorf("at work: %+v", got)
		}
		if beat := got.Checks["heartbeat"]; beat.Value == nil || *beat.Value != 5 || beat.Limit == nil || *beat.Limit != 60 {
			t.Errorf("heartbeat: %+v", beat)
		}
		if f.registered[0].HealthURL != "http://10.0.0.7:1" {
			t.Errorf("registered as %+v", f.registered[0])
		}
		close(release)
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := askHandler(t, w); got.code != 503 || got.ill() != "heartbeat" {
			t.Errorf("after it ran: %+v", got)
		}
	})
}

// The application's checks count, and the report hides their errors.
func TestHealthOwnChecks(t *testing.T) {
	t.Parallel()
	h := anyLoad()
	h.Checks = map[string]func(context.Context) error{
		"disk": func(context.Context) error { return nil },
		"pool": func(ctx context.Context) error {
			if _, limited := ctx.Deadline(); !limited {
				return errors.New("nothing bounds the check")
			}
			return errors.New("db-7 refuses hunter2")
		},
	}
	var log bytes.Buffer
	w := worker.New(tasker.NewClient(newFake()),
		&worker.Options{Health: h, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	rec := httptest.NewRecorder()
	w.HealthHandler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", nil))
	if body := rec.Body.String(); rec.Code != 503 || strings.Contains(body, "hunter2") ||
		!strings.Contains(body, `"pool":{"ok":false,`) || !strings.Contains(body, `"disk":{"ok":true,`) {
		t.Errorf("it answers %d %s", rec.Code, body)
	}
	if !strings.Contains(log.String(), "check=pool") || !strings.Contains(log.String(), "db-7") ||
		strings.Contains(log.String(), "disk") {
		t.Errorf("the log says %s", &log)
	}
}

func TestHealthWithoutServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
			return nil, tasker.Errorf(tasker.CodeUnavailable, "no database")
		}
		w := newWorker(f, worker.Options{Health: anyLoad()})
		w.Handle("h", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		synctest.Wait()
		time.Sleep(59 * time.Second)
		if got := askHandler(t, w); got.code != 200 {
			t.Errorf("within the lease: %+v", got)
		}
		time.Sleep(2 * time.Second)
		if got := askHandler(t, w); got.code != 503 || got.ill() != "heartbeat" {
			t.Errorf("a lease later: %+v", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestHealthServer(t *testing.T) {
	t.Parallel()
	f := newFake()
	registered := make(chan protocol.WorkerRegistration, 1)
	f.onRegister = func(reg protocol.WorkerRegistration) error { registered <- reg; return nil }
	w := newWorker(f,
		worker.Options{Health: &worker.Health{Addr: "127.0.0.1:0", MaxMemoryPercent: -1, MaxCPUPercent: -1,
			MaxGoroutines: 1}})
	w.Handle("h", func(context.Context, *worker.Job) (any, error) { return nil, nil })
	r := run(t, w)
	base := (<-registered).HealthURL
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) *http.Response {
		t.Helper()
		resp, err := client.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	resp := get("/health")
	got := parse(t, resp.StatusCode, resp.Body)
	many := got.Checks["goroutines"]
	if got.code != 503 || many.OK || many.Value == nil || *many.Value < 2 || many.Limit == nil || *many.Limit != 1 ||
		!got.Checks["memory"].OK || !got.Checks["cpu"].OK {
		t.Errorf("%+v", got)
	}
	if got.Checks["memory"].Limit != nil {
		t.Errorf("a limit that was switched off is shown: %+v", got.Checks["memory"])
	}
	if h := resp.Header; h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", h)
	}
	if resp := get("/"); resp.StatusCode != 404 {
		t.Errorf("GET /: %s", resp.Status)
	}
	resp, err := client.Post(base+"/health", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s", resp.Status)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if resp, err := client.Get(base + "/health"); err == nil {
		resp.Body.Close()
		t.Error("it still answers after Run")
	}
}

// The address for servers names a host when the worker listens on all addresses.
func TestHealthAddress(t *testing.T) {
	t.Parallel()
	f := newFake()
	registered := make(chan protocol.WorkerRegistration, 1)
	f.onRegister = func(reg protocol.WorkerRegistration) error { registered <- reg; return nil }
	w := newWorker(f, worker.Options{Health: &worker.Health{Addr: ":0"}})
	w.Handle("h", func(context.Context, *worker.Job) (any, error) { return nil, nil })
	r := run(t, w)
	host, port, err := net.SplitHostPort(strings.TrimPrefix((<-registered).HealthURL, "http://"))
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() || port == "0" {
		t.Errorf("host %q, port %q: %v", host, port, err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestHealthMisuse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, h := range map[string]worker.Health{
		"Nothing": {},
		"Taken":   {Addr: taken.Addr().String()},
		"Name": {URL: "http://10.0.0.7:1",
			Checks: map[string]func(context.Context) error{"memory": func(context.Context) error { return nil }}},
		"NoCheck": {URL: "http://10.0.0.7:1", Checks: map[string]func(context.Context) error{"pool": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			w := newWorker(f, worker.Options{Health: &h})
			w.Handle("h", func(context.Context, *worker.Job) (any, error) { return nil, nil })
			if err := w.Run(t.Context()); err == nil || len(f.registered) != 0 {
				t.Errorf("Run: %v; registered %v", err, f.registered)
			}
		})
	}
}

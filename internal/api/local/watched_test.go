package local_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestProbedWorker: the loops probe a worker with a probe address, and workers, operators and explanations show the
// result.
func TestProbedWorker(t *testing.T) {
	t.Parallel()
	var ill atomic.Bool
	var asked atomic.Int64
	health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Path != "/health" || r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"checks":{"memory":{"ok":false},"cpu":{"ok":true}}}`))
		}
	}))
	t.Cleanup(health.Close)
	r := newRig(t, openSQLite(t), settings.Config{WorkerProbes: settings.WorkerProbes{Enabled: true}})
	r.worker = r.join(t, protocol.WorkerRegistration{Name: "probed", Handlers: []string{"p"}, HealthURL: health.URL})
	look := func() *protocol.WorkerInfo {
		t.Helper()
		r.wait(t, time.Minute)
		if _, err := protocol.Of(r.Client).Heartbeat(t.Context(), protocol.Heartbeat{WorkerID: r.worker}); err != nil {
			t.Fatal(err)
		}
		w, err := protocol.Of(r.Client).Worker(t.Context(), r.worker)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if w := look(); w.State != protocol.WorkerActive || w.HealthFailures != 0 || w.HealthURL != health.URL ||
		w.Breaker != protocol.BreakerClosed {
		t.Errorf("well: %+v", w)
	}
	r.submit(t, tasker.TaskRequest{TaskType: "p"})
	held := r.take(t, true)
	ill.Store(true)
	if w := look(); w.State != protocol.WorkerActive || w.HealthFailures != 1 || w.HealthError != "status 503: memory" {
		t.Errorf("after one failure: %+v", w)
	}
	if w := look(); w.State != protocol.WorkerUnhealthy || w.HealthFailures != 2 {
		t.Errorf("after two: %+v", w)
	}
	id := r.submit(t, tasker.TaskRequest{TaskType: "p"})
	resp, err := protocol.Of(r.Client).Poll(t.Context(), protocol.PollRequest{WorkerID: r.worker, Start: true})
	if err != nil || len(resp.Steps) != 0 || resp.ShouldDrain {
		t.Errorf("an unhealthy worker got %+v, %v", resp, err)
	}
	if text := r.explained(t, id); !strings.Contains(text,
		"(1 worker is unhealthy and gets no steps until a probe succeeds)") {
		t.Error(text)
	}
	r.report(t, held, completed(`"what it had it keeps"`))
	ill.Store(false)
	if w := look(); w.State != protocol.WorkerActive || w.HealthFailures != 0 || w.HealthError != "" {
		t.Errorf("well again: %+v", w)
	}
	r.take(t, true)
	if n := asked.Load(); n != 4 {
		t.Errorf("it was asked %d times; want once a look", n)
	}
}

func TestBrokenWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), settings.Config{WorkerBreaker: settings.WorkerBreaker{Failures: 2}})
	inARow := func(want int) {
		t.Helper()
		w, err := protocol.Of(r.Client).Worker(t.Context(), r.worker)
		if got := 0; err == nil {
			if w.ConsecutiveFailures != nil {
				got = *w.ConsecutiveFailures
			}
			if got != want || (w.ConsecutiveFailures == nil) != (want == 0) {
				t.Errorf("%d failures in a row, want %d: %+v", got, want, w)
			}
		} else {
			t.Error(err)
		}
	}
	for n := range 2 {
		inARow(n)
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultFailed,
			Error: &tasker.Failure{Type: "OUT_OF_MEMORY", Message: "full"}})
	}
	inARow(0) // it opened
	w, err := protocol.Of(r.Client).Worker(t.Context(), r.worker)
	if err != nil || w.State != protocol.WorkerActive || w.Breaker != protocol.BreakerOpen || w.BreakerOpenedAt == nil ||
		!w.BreakerOpenedAt.Equal(noon) {
		t.Errorf("%+v, %v", w, err)
	}
	id := r.submit(t, tasker.TaskRequest{TaskType: "other"})
	if text := r.explained(t, id); !strings.Contains(text,
		"(1 worker has an open circuit breaker because all its recent attempts failed)") {
		t.Error(text)
	}
	r.wait(t, time.Minute)
	if w, err := protocol.Of(r.Client).Worker(t.Context(), r.worker); err != nil || w.Breaker != protocol.BreakerHalfOpen {
		t.Errorf("%+v, %v", w, err)
	}
}

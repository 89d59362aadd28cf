package telemetry_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, opts telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return tel
}

// rig is an observed engine in memory, with the test's clock and one worker.
type rig struct {
	*engine.Engine
	t      *testing.T
	tel    *telemetry.Telemetry
	store  engine.Database
	now    time.Time
	worker *task.Worker
}

func newRig(t *testing.T, opts telemetry.Options) *rig {
	t.Helper()
	return newRigOf(t, opts, settings.Config{})
}

func newRigOf(t *testing.T, opts telemetry.Options, config settings.Config) *rig {
	t.Helper()
	return newRigWith(t, opts, engine.Options{Config: config})
}

// newRigWith sets the observer and the clock of the engine's options.
func newRigWith(t *testing.T, opts telemetry.Options, of engine.Options) *rig {
	t.Helper()
	r := &rig{t: t, tel: open(t, opts), store: memstore.New(&memstore.Options{Seed: 1}),
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	of.Observer, of.Now = r.tel, func() time.Time { return r.now }
	r.Engine, err = engine.New(t.Context(), r.store, of)
	r.must(err)
	r.tel.Watch(r.Census)
	t.Cleanup(func() { _ = r.store.Close() })
	r.worker, err = r.Register(t.Context(), task.Worker{Name: "w", Capacity: 5})
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) submit(subs ...engine.Submission) []engine.Receipt {
	r.t.Helper()
	receipts, err := r.Submit(r.t.Context(), subs, false)
	r.must(err)
	return receipts
}

func (r *rig) claim() engine.Lease {
	r.t.Helper()
	leases, _, err := r.Poll(r.t.Context(), r.worker.ID, 1, 0, true)
	r.must(err)
	if len(leases) != 1 {
		r.t.Fatalf("%d steps were ready, want 1", len(leases))
	}
	return leases[0]
}

func (r *rig) settle(l engine.Lease, status engine.ResultStatus, f *task.Failure) engine.Answer {
	r.t.Helper()
	answers, err := r.Settle(r.t.Context(),
		[]engine.Result{{Step: l.Step.ID, Token: l.Step.Token, Status: status, Failure: f}})
	r.must(err)
	return answers[0]
}

func scrape(t *testing.T, tel *telemetry.Telemetry) metrics {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("metrics are answered with %d, %v: %s", w.Code, err, body)
	}
	return metrics(strings.Split(string(body), "\n"))
}

type metrics []string

// value returns the value of a series in text format with sorted labels, "" if absent.
func (m metrics) value(series string) string {
	for _, line := range m {
		if v, ok := strings.CutPrefix(line, series+" "); ok {
			return v
		}
	}
	return ""
}

// "" means absent.
func (m metrics) want(t *testing.T, series map[string]string) {
	t.Helper()
	for s, want := range series {
		if got := m.value(s); got != want {
			t.Errorf("%s is %q, want %q", s, got, want)
		}
	}
}

func (m metrics) count(name string) int {
	n := 0
	for _, line := range m {
		if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			n++
		}
	}
	return n
}

func spans() *tracetest.InMemoryExporter { return tracetest.NewInMemoryExporter() }

package doctest_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// incident is the night before docs/guides/operations.md, on a database, with a clock that begins hours ago and reaches
// the present.
type incident struct {
	t       *testing.T
	backend *node.Node
	client  *tasker.Client
	ago     atomic.Int64 // how far the clock is behind, in nanoseconds
}

func (in *incident) now() time.Time { return time.Now().Add(-time.Duration(in.ago.Load())) }

// past is a store whose IDs follow the incident's clock.
type past struct {
	*postgres.Store
	ids *task.Source
}

func (p past) IDs() *task.Source { return p.ids }

// Workflows of the night. fulfill_order needs a database that was away, invoice a server that was away, daily one that
// asked for a later retry.
var nightTemplates = []string{`
name: fulfill_order
namespace_name: order_processing
version: 1.0.0
steps:
  - {name: validate, handler: validate}
  - {name: charge, handler: charge, dependencies: [validate], retry: {max_attempts: 3, backoff: none}}
  - {name: ship, handler: ship, dependencies: [charge]}
`, `
name: invoice
namespace_name: billing
version: 1.0.0
steps: [{name: render, handler: render, retry: {max_attempts: 2, backoff: none}}]
`, `
name: daily
namespace_name: reports
version: 1.0.0
lifecycle: {max_waiting_for_retry_minutes: 30}
steps: [{name: export, handler: export, retry: {backoff_base_ms: 7200000, max_backoff_ms: 7200000}}]
`, `
name: thumbnail
namespace_name: media
version: 1.0.0
steps: [{name: scale, handler: scale, required_capabilities: [gpu]}]
`}

// settlement has steps that wait for each other. Registration refuses it, so it is written into the database.
func settlement(now time.Time) *task.Template {
	t := &task.Template{Namespace: "order_processing", Name: "settle", Version: "1.0.0", Fingerprint: "by hand",
		CreatedAt: now,
		Steps: []task.StepSpec{
			{Name: "book", Handler: "book", Retry: task.DefaultRetry(), Dependencies: []string{"pay"}},
			{Name: "pay", Handler: "pay", Retry: task.DefaultRetry(), Dependencies: []string{"book"}},
		}}
	t.Link()
	return t
}

// haveIncident plays the night on an empty database.
func haveIncident(t *testing.T, dsn string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := &incident{t: t}
	in.ago.Store(int64(9 * time.Hour))
	// The reader detects the stale tasks.
	cfg := settings.Config{StalenessDetection: settings.StalenessDetection{Enabled: settings.Off}}
	in.backend, err = node.New(t.Context(), past{s, task.NewSource(1, 0)}, node.Options{Engine: cfg, Now: in.now})
	if err != nil {
		t.Fatal(err)
	}
	in.client = tasker.NewClient(in.backend)
	for _, yaml := range nightTemplates {
		if _, err := in.client.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: yaml}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.InsertTemplate(ctx, settlement(in.now()))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	in.at(8*time.Hour, func() {
		for n := range 6 {
			in.submit("billing", "invoice", fmt.Sprintf(`{"invoice": %d}`, 7001+n))
		}
		in.fail()
	})
	in.at(3*time.Hour, func() {
		for n := range 4 {
			in.submit("order_processing", "fulfill_order", fmt.Sprintf(`{"order": %d}`, 41+n))
		}
		in.fail()
	})
	in.at(2*time.Hour, func() { in.submit("order_processing", "settle", `{"month": "2026-02"}`) })
	in.at(40*time.Minute, func() { in.submit("reports", "daily", `{"day": "2026-03-01"}`); in.fail() })
	in.at(26*time.Minute, func() { in.submit("reports", "daily", `{"day": "2026-03-02"}`); in.fail() })
	in.at(12*time.Minute, func() { in.submit("media", "thumbnail", `{"picture": 5}`) })
	in.at(6*time.Minute, func() {
		if err := in.backend.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if err := in.client.Close(); err != nil {
		t.Fatal(err)
	}
}

// at runs what at a time in the past.
func (in *incident) at(ago time.Duration, what func()) {
	in.ago.Store(int64(ago))
	what()
}

func (in *incident) submit(namespace, name, input string) uuid.UUID {
	in.t.Helper()
	receipt, err := in.client.Submit(in.t.Context(),
		tasker.TaskRequest{Namespace: namespace, Name: name, Context: []byte(input)})
	if err != nil {
		in.t.Fatal(err)
	}
	return receipt.TaskUUID
}

// fail lets a worker try all ready steps until it has nothing to do.
func (in *incident) fail() {
	in.t.Helper()
	w := worker.New(in.client, &worker.Options{Name: "worker-1", Concurrency: 1, PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	w.Handle("validate", func(context.Context, *worker.Job) (any, error) { return map[string]bool{"valid": true}, nil })
	w.Handle("charge", func(context.Context, *worker.Job) (any, error) {
		return nil, &tasker.Failure{Type: "ConnectionError", Code: "DB_UNAVAILABLE",
			Message: "connect to cards.internal:5432: connection refused"}
	})
	w.Handle("render", func(context.Context, *worker.Job) (any, error) {
		return nil, &tasker.Failure{Type: "HTTPError", Message: "POST http://pdf.internal/render: 503", HTTPStatus: 503,
			ResponseBody: "no healthy upstream"}
	})
	w.Handle("export", func(context.Context, *worker.Job) (any, error) {
		return nil, &tasker.Failure{Type: "QuotaExceeded", Message: "the warehouse has no slots left"}
	})
	ctx, stop := context.WithCancel(in.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	in.idle()
	stop()
	if err := <-ended; err != nil {
		in.t.Fatal(err)
	}
}

// idle waits until no step is ready or leased.
func (in *incident) idle() {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	for {
		page, err := in.client.Tasks(ctx,
			tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskStepsInProcess, tasker.TaskEnqueuingSteps}})
		if err != nil {
			in.t.Fatal(err)
		}
		if len(page.Tasks) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			in.t.Fatal("the incident does not happen")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

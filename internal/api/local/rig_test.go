package local_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

func onEveryStore(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	t.Run("Memory", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, memstore.New(&memstore.Options{Seed: 1, Rehearse: true}), settings.Config{}))
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, openSQLite(t), settings.Config{}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s, err := postgres.Open(t.Context(), postgrestest.DSN(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		test(t, newRig(t, sameIDs{s, task.NewSource(1, 0)}, settings.Config{}))
	})
}

type sameIDs struct {
	*postgres.Store
	ids *task.Source
}

func (s sameIDs) IDs() *task.Source { return s.ids }

func openSQLite(t *testing.T) engine.Database {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.File(t), &sqlite.Options{Seed: 1, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type rig struct {
	*tasker.Client
	operate.Backend
	queueClient
	b      *node.Node
	store  engine.Database
	worker uuid.UUID

	mu  sync.Mutex
	now time.Time
}

type queueClient = queueapi.Backend

func newRig(t *testing.T, s engine.Database, cfg settings.Config) *rig {
	t.Helper()
	r := &rig{now: noon, store: s}
	b, err := node.New(t.Context(), s, node.Options{Engine: cfg, Now: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r.b, r.Client = b, tasker.NewClient(b)
	r.Backend, r.queueClient = operate.Of(r.Client), queueapi.Of(r.Client)
	r.worker = r.join(t, protocol.WorkerRegistration{Name: "w", Namespaces: []string{protocol.AllNamespaces}})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// wait advances the clock, then does what is due.
func (r *rig) wait(t *testing.T, d time.Duration) {
	t.Helper()
	r.mu.Lock()
	r.now = r.now.Add(d)
	r.mu.Unlock()
	if err := r.b.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) silent(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) join(t *testing.T, reg protocol.WorkerRegistration) uuid.UUID {
	t.Helper()
	w, err := protocol.Of(r.Client).RegisterWorker(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	return w.WorkerID
}

func (r *rig) template(t *testing.T, yaml string) {
	t.Helper()
	if _, err := r.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: yaml}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) submit(t *testing.T, req tasker.TaskRequest) uuid.UUID {
	t.Helper()
	receipt, err := r.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return receipt.TaskUUID
}

// take polls for one step as the rig's worker: assigned, or started with start.
func (r *rig) take(t *testing.T, start bool) protocol.Assignment {
	t.Helper()
	resp, err := protocol.Of(r.Client).Poll(t.Context(), protocol.PollRequest{WorkerID: r.worker, Start: start})
	if err != nil || len(resp.Steps) != 1 {
		t.Fatalf("the poll brought %+v, %v; want one step", resp, err)
	}
	return resp.Steps[0]
}

func (r *rig) start(t *testing.T, a protocol.Assignment) {
	t.Helper()
	answers, err := protocol.Of(r.Client).Start(t.Context(),
		protocol.StartRequest{WorkerID: r.worker, Steps: []protocol.LeaseRef{ref(a)}})
	if err != nil || answers[0].Status != protocol.LeaseHeld {
		t.Fatalf("start was answered %+v, %v", answers, err)
	}
}

func ref(a protocol.Assignment) protocol.LeaseRef {
	return protocol.LeaseRef{StepUUID: a.StepUUID, Token: a.Token}
}

// report settles a step; what it says about the lease is filled in.
func (r *rig) report(t *testing.T, a protocol.Assignment, res protocol.StepResult) protocol.SettleAnswer {
	t.Helper()
	res.StepUUID, res.Token = a.StepUUID, a.Token
	answers, err := protocol.Of(r.Client).Settle(t.Context(),
		protocol.SettleRequest{WorkerID: r.worker, Results: []protocol.StepResult{res}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("the report was answered %+v, %v", answers, err)
	}
	return answers[0]
}

func completed(result string) protocol.StepResult {
	return protocol.StepResult{Status: protocol.ResultCompleted, Result: json.RawMessage(result)}
}

// failed is a failure; one that is final is not retryable.
func failed(message string, final bool) protocol.StepResult {
	retryable := !final
	return protocol.StepResult{Status: protocol.ResultFailed,
		Error: &tasker.Failure{Message: message, Retryable: &retryable}}
}

func (r *rig) act(t *testing.T, id uuid.UUID, step, kind string) *tasker.Step {
	t.Helper()
	a := tasker.StepAction{ActionType: kind, Reason: "by hand"}
	switch kind {
	case tasker.ResetForRetry:
		a.ResetBy = "ann"
	case tasker.ResolveManually:
		a.ResolvedBy = "ann"
	case tasker.CompleteManually:
		a.CompletedBy, a.CompletionData = "ann", &tasker.CompletionData{Result: json.RawMessage(`{"by":"hand"}`)}
	}
	s, err := r.ActOnStep(t.Context(), id, r.step(t, id, step).StepUUID, a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) cancel(t *testing.T, id uuid.UUID) {
	t.Helper()
	receipts, err := r.CancelTasks(t.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, CancelledBy: "ann",
		Reason: "not needed"})
	if err != nil || receipts[0].Error != nil || receipts[0].State != tasker.TaskCancelled {
		t.Fatalf("cancel was answered %+v, %v", receipts, err)
	}
}

func (r *rig) step(t *testing.T, id uuid.UUID, name string) tasker.Step {
	t.Helper()
	steps, err := r.Steps(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("the task has no step %q: %+v", name, steps)
	return tasker.Step{}
}

func (r *rig) task(t *testing.T, id uuid.UUID) *tasker.Task {
	t.Helper()
	got, err := r.Task(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// story renders the history of a task, one line per transition, then one per attempt.
func (r *rig) story(t *testing.T, id uuid.UUID) string {
	t.Helper()
	h, err := r.TaskHistory(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, tr := range h.Transitions {
		who := "task"
		if tr.StepUUID != nil {
			who = tr.StepName
		}
		fmt.Fprintf(&b, "%s %s %s>%s", r.since(&tr.At), who, tr.From, tr.To)
		if tr.Attempt != 0 {
			fmt.Fprintf(&b, " #%d", tr.Attempt)
		}
		if tr.Worker != "" {
			b.WriteString(" " + strings.TrimSuffix(tr.Worker, " ("+r.worker.String()+")"))
		}
		for _, word := range []string{tr.Actor, tr.Reason} {
			if word != "" {
				b.WriteString(" " + strings.ReplaceAll(word, " ", "_"))
			}
		}
		b.WriteString("\n")
	}
	for _, a := range h.Attempts {
		fmt.Fprintf(&b, "attempt %s #%d token %d %s: %s %s %s %s", a.StepName, a.Attempt, a.Lease, a.Outcome,
			r.since(a.ReadyAt), r.since(a.AssignedAt), r.since(a.StartedAt), r.since(a.FinishedAt))
		if a.Error != nil {
			b.WriteString(" " + strings.ReplaceAll(a.Error.Message, " ", "_"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *rig) since(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Sub(noon).String()
}

// refusal returns the *tasker.Error of a call that must fail with a code.
func refusal(t *testing.T, err error, code tasker.Code) *tasker.Error {
	t.Helper()
	e, ok := err.(*tasker.Error) // not wrapped: callers get this
	if !ok || e.Code != code {
		t.Fatalf("got the error %#v (%v), want code %s", err, err, code)
	}
	return e
}

func places(e *tasker.Error) string {
	var out []string
	for _, d := range e.Details {
		out = append(out, d.Location)
	}
	return strings.Join(out, " ")
}

package transfer_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/blobstore"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

type installation struct {
	*tasker.Client
	worker uuid.UUID
}

func openSQLite(t *testing.T, path string) engine.Database {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openPostgres(t *testing.T, dsn string) engine.Database {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func install(t *testing.T, s engine.Database) *installation {
	t.Helper()
	blobs, err := blobstore.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := node.New(t.Context(), s, node.Options{Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	c := tasker.NewClient(b)
	w, err := protocol.Of(c).RegisterWorker(t.Context(),
		protocol.WorkerRegistration{Name: "w", Capabilities: []string{"gpu"},
			Namespaces: []string{protocol.AllNamespaces},
			Capacity:   100})
	if err != nil {
		t.Fatal(err)
	}
	return &installation{c, w.WorkerID}
}

func (in *installation) close(t *testing.T) {
	t.Helper()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
}

const report = `
name: report
namespace_name: büro
version: 1.0.0
steps:
  - {name: fetch, handler: fetch, retry: {retryable: true, max_attempts: 2, backoff: fixed, backoff_base_ms: 3600000, max_backoff_ms: 3600000, jitter: 0}}
  - {name: parse, handler: parse, dependencies: [fetch]}
  - {name: store, handler: store, dependencies: [parse]}
`

// fill leaves n tasks in every state of rest.
func (in *installation) fill(t *testing.T, n int) {
	t.Helper()
	if _, err := in.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: report}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		in.steps(t, i)
		in.singles(t, i)
	}
}

func (in *installation) steps(t *testing.T, i int) {
	t.Helper()
	req := tasker.TaskRequest{Name: "report", Namespace: "büro",
		Context: json.RawMessage(fmt.Sprintf(`{"i": %d,  "text": "Grüße \u0000 \"<&>"}`, i)),
		Tags:    []string{"größe", "b", "Zebra"}, CorrelationID: fmt.Sprint("order ", i), Reason: "because"}
	done := in.submit(t, req)
	for range 3 {
		in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultCompleted,
			Result: json.RawMessage(`{"z": 1.50, "a": [null, "` + strings.Repeat("x", 2000) + `"]}`)})
	}
	retrying := in.submit(t, req)
	in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultFailed,
		Error: &tasker.Failure{Message: "the other side\nis busy", Details: json.RawMessage(`[1]`)}})
	broken := in.submit(t, req)
	no := false
	in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultFailed, Log: "größer\n",
		Error: &tasker.Failure{Message: "no", Retryable: &no}})
	repaired := in.submit(t, req)
	in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultFailed,
		Error: &tasker.Failure{Message: "no", Retryable: &no}})
	steps, err := in.Steps(t.Context(), repaired)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.ActOnStep(t.Context(), repaired, steps[0].StepUUID,
		tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "me", Reason: "by hand"}); err != nil {
		t.Fatal(err)
	}
	in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 3600})
	cancelled := in.submit(t, req)
	if _, err := in.CancelTasks(t.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{cancelled}, Reason: "not wanted",
		CancelledBy: "me"}); err != nil {
		t.Fatal(err)
	}
	in.investigate(t, broken, cancelled)
	for id, want := range map[uuid.UUID]tasker.TaskState{done: tasker.TaskComplete, retrying: tasker.TaskWaitingForRetry,
		broken: tasker.TaskError, cancelled: tasker.TaskCancelled} {
		if got, err := in.Task(t.Context(), id, 0); err != nil || got.State != want {
			t.Fatalf("a task is %+v, %v; want it %s", got, err, want)
		}
	}
}

func (in *installation) investigate(t *testing.T, broken, cancelled uuid.UUID) {
	t.Helper()
	if _, err := operate.Of(in.Client).OpenCase(t.Context(), cancelled,
		operate.OpenCaseRequest{OpenedBy: "me", Reason: "größer als gedacht"}); err != nil {
		t.Fatal(err)
	}
	c, err := operate.Of(in.Client).CaseOfTask(t.Context(), broken)
	if err != nil {
		t.Fatal(err)
	}
	notes := "seen \"it\""
	_, err = operate.Of(in.Client).UpdateCase(t.Context(), c.CaseUUID,
		operate.CaseUpdate{ResolutionStatus: tasker.CasePermanentlyFailed, ResolutionNotes: &notes,
			ResolvedBy: "me", Metadata: json.RawMessage(`{"ticket": 7}`)})
	if err != nil {
		t.Fatal(err)
	}
}

func (in *installation) singles(t *testing.T, i int) {
	t.Helper()
	in.submit(t, tasker.TaskRequest{TaskType: "held"})
	a := in.take(t)
	if _, err := protocol.Of(in.Client).Progress(t.Context(),
		protocol.ProgressReport{WorkerID: in.worker, StepUUID: a.StepUUID, Token: a.Token,
			ProgressPercent: 40, StatusMessage: "halfway", Checkpoint: json.RawMessage(`{"ä": "\u0000",  "row": 7}`)}); err != nil {
		t.Fatal(err)
	}
	in.signals(t, i)
	in.large(t)
	later := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	in.submit(t, tasker.TaskRequest{TaskType: "later", RunAt: &later, IdempotencyKey: fmt.Sprint("key ", i)})
	in.submit(t, tasker.TaskRequest{TaskType: "elsewhere", RequiredCapabilities: []string{"quantum", "gpu"},
		Priority: "high"})
}

func (in *installation) large(t *testing.T) {
	t.Helper()
	in.submit(t, tasker.TaskRequest{TaskType: "large"})
	a := in.take(t)
	sent, err := in.Client.Backend.(protocol.LargeResultBackend).SendLargeResult(t.Context(), in.worker,
		protocol.LeaseRef{StepUUID: a.StepUUID, Token: a.Token}, []byte(`{"größe": 1.50}`))
	if err != nil {
		t.Fatal(err)
	}
	in.report(t, a, protocol.StepResult{Status: protocol.ResultCompleted, LargeResult: sent.Reference})
}

func (in *installation) signals(t *testing.T, i int) {
	t.Helper()
	if _, err := in.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: "name: paid\nversion: '1'\nsteps:\n" +
		"- {name: go, handler: go}\n" +
		"- {name: paid, wait: {signal: zahlung, key: '{{id}}'}, dependencies: [go]}\n"}); err != nil {
		t.Fatal(err)
	}
	in.submit(t, tasker.TaskRequest{Name: "paid", Context: json.RawMessage(`{"id":"größe"}`)})
	in.report(t, in.take(t), protocol.StepResult{Status: protocol.ResultCompleted})
	if _, err := waits.Of(in.Client).SendSignal(t.Context(), waits.SignalRequest{Name: "größe", Key: "\"<&>",
		SignalID: fmt.Sprint("id ", i), Payload: json.RawMessage(`{"z": 1.50, "a": "\u0000"}`)}); err != nil {
		t.Fatal(err)
	}
}

func (in *installation) bulk(t *testing.T, n int) {
	t.Helper()
	for n > 0 {
		var req tasker.SubmitRequest
		for range min(n, 1000) {
			req.Tasks = append(req.Tasks, tasker.TaskRequest{TaskType: "bulk", RequiredCapabilities: []string{"patience"}})
		}
		if _, err := in.SubmitTasks(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		n -= len(req.Tasks)
	}
}

func (in *installation) submit(t *testing.T, req tasker.TaskRequest) uuid.UUID {
	t.Helper()
	receipt, err := in.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return receipt.TaskUUID
}

func (in *installation) take(t *testing.T) protocol.Assignment {
	t.Helper()
	resp, err := protocol.Of(in.Client).Poll(t.Context(), protocol.PollRequest{WorkerID: in.worker, Start: true})
	if err != nil || len(resp.Steps) != 1 {
		t.Fatalf("the poll brought %+v, %v; want one step", resp, err)
	}
	return resp.Steps[0]
}

func (in *installation) report(t *testing.T, a protocol.Assignment, res protocol.StepResult) {
	t.Helper()
	res.StepUUID, res.Token = a.StepUUID, a.Token
	answers, err := protocol.Of(in.Client).Settle(t.Context(),
		protocol.SettleRequest{WorkerID: in.worker, Results: []protocol.StepResult{res}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("settle was answered %+v, %v", answers, err)
	}
}

// show returns all answers of the API as text.
func (in *installation) show(t *testing.T) string {
	t.Helper()
	var out []any
	page, err := in.Tasks(t.Context(), tasker.TaskFilter{Limit: 1000, Namespace: "büro"})
	if err != nil {
		t.Fatal(err)
	}
	singles, err := in.Tasks(t.Context(), tasker.TaskFilter{Limit: 10, CreatedBefore: &page.Tasks[0].CreatedAt})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(page.Tasks, singles.Tasks...) {
		full, err := in.Task(t.Context(), k.TaskUUID, 0)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := in.Steps(t.Context(), k.TaskUUID)
		if err != nil {
			t.Fatal(err)
		}
		history, err := in.TaskHistory(t.Context(), k.TaskUUID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, full, steps, history)
	}
	cases, err := operate.Of(in.Client).Cases(t.Context(), operate.CaseFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	audit, err := operate.Of(in.Client).Audit(t.Context(), operate.AuditFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 || len(audit) == 0 {
		t.Fatalf("there are %d cases and %d acts to be shown", len(cases), len(audit))
	}
	templates, err := in.Templates(t.Context(), tasker.TemplateFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(append(out, cases, audit, templates), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasker.db")
	s := openSQLite(t, path)
	in := install(t, s)
	in.fill(t, n)
	fillInbox(t, s.(inboxStore))
	in.close(t)
	return "sqlite:" + path
}

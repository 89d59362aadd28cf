package crashtest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

// story is a short correct run with everything that Check looks at; a test then breaks one guarantee in its record.
type story struct {
	*crashtest.Journal
	found  []crashtest.Found
	client *tasker.Client
	worker uuid.UUID

	recorder *crashtest.Recorder
}

const chain = `
name: chain
namespace_name: default
version: 1.0.0
steps:
  - {name: first, handler: first}
  - {name: second, handler: second, dependencies: [first]}
`

func tell(t *testing.T) *story {
	t.Helper()
	ctx := t.Context()
	b, err := node.Open(ctx, "memory:", node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	s := &story{Journal: crashtest.NewJournal()}
	rec := crashtest.Record(b, s.Journal, nil)
	rec.Waits = waits.Of(tasker.NewClient(b))
	s.client, s.recorder = tasker.NewClient(rec), rec
	check(t, s.play(ctx))
	if s.found, err = crashtest.Read(ctx, rec); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) play(ctx context.Context) error {
	_, err := s.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: chain})
	if err != nil {
		return err
	}
	w, err := protocol.Of(s.client).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "w", Capacity: 100})
	if err != nil {
		return err
	}
	s.worker = w.WorkerID
	s.Expect("resolved", tasker.TaskResolvedManually)
	for _, act := range []func(context.Context) error{s.submit, s.workAll, s.stale, s.operate, s.cancel, s.slow} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func single(ref string) tasker.TaskRequest {
	return tasker.TaskRequest{TaskType: "ok", CorrelationID: ref, Context: json.RawMessage(`{"for":"` + ref + `"}`)}
}

func (s *story) submit(ctx context.Context) error {
	keyed := single("keyed")
	keyed.IdempotencyKey = "k"
	flow := tasker.TaskRequest{Name: "chain", CorrelationID: "flow"}
	for _, tasks := range [][]tasker.TaskRequest{
		{single("one")}, {single("b1"), single("b2"), single("b3")}, {keyed}, {keyed}, {flow},
		{single("retried")}, {single("resolved")}, {single("supplied")},
	} {
		if _, err := s.client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks}); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) workAll(ctx context.Context) error {
	for {
		resp, err := protocol.Of(s.client).Poll(ctx, protocol.PollRequest{WorkerID: s.worker, Capacity: 100, Start: true})
		if err != nil || len(resp.Steps) == 0 {
			return err
		}
		for _, a := range resp.Steps {
			r := protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultCompleted,
				Result: json.RawMessage(`{"of":"` + a.StepUUID.String() + `"}`)}
			switch final := false; a.CorrelationID {
			case "sunk": // its shipping fails
				if a.StepName == "ship" {
					r.Status, r.Result, r.Error = protocol.ResultFailed, nil, &tasker.Failure{Message: "no", Retryable: &final}
				}
			case "retried": // handed out twice
				if crashtest.LeaseNo(a.Token) == 1 {
					r.Status, r.Result = protocol.ResultReleased, nil
				}
			case "resolved", "supplied":
				r.Status, r.Result, r.Error = protocol.ResultFailed, nil, &tasker.Failure{Message: "no", Retryable: &final}
			}
			if _, err := protocol.Of(s.client).Settle(ctx, protocol.SettleRequest{WorkerID: s.worker,
				Results: []protocol.StepResult{r}}); err != nil {
				return err
			}
		}
	}
}

// stale reports every lease again.
func (s *story) stale(ctx context.Context) error {
	for _, h := range append([]crashtest.Handout(nil), s.Handouts...) {
		_, err := protocol.Of(s.client).Settle(ctx, protocol.SettleRequest{WorkerID: s.worker, Results: []protocol.StepResult{
			{StepUUID: h.Step, Token: h.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`"stale"`)}}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *story) operate(ctx context.Context) error {
	page, err := s.client.Tasks(ctx, tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskError}})
	if err != nil {
		return err
	}
	for _, t := range page.Tasks {
		steps, err := s.client.Steps(ctx, t.TaskUUID)
		if err != nil {
			return err
		}
		act := tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "op", Reason: "by hand: " + t.CorrelationID}
		if t.CorrelationID == "supplied" {
			act = tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "op", Reason: act.Reason,
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`{"by":"hand"}`)}}
		}
		if _, err := s.client.ActOnStep(ctx, t.TaskUUID, steps[0].StepUUID, act); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) cancel(ctx context.Context) error {
	receipt, err := s.client.Submit(ctx, single("dropped"))
	if err != nil {
		return err
	}
	_, err = s.client.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID}, CancelledBy: "op"})
	return err
}

// slow carries out a step in the smallest calls of the protocol, twice: the second time all are stale.
func (s *story) slow(ctx context.Context) error {
	if _, err := s.client.Submit(ctx, single("slow")); err != nil {
		return err
	}
	resp, err := protocol.Of(s.client).Poll(ctx, protocol.PollRequest{WorkerID: s.worker})
	if err != nil {
		return err
	}
	ref := protocol.LeaseRef{StepUUID: resp.Steps[0].StepUUID, Token: resp.Steps[0].Token}
	for range 2 {
		if _, err := protocol.Of(s.client).Start(ctx,
			protocol.StartRequest{WorkerID: s.worker, Steps: []protocol.LeaseRef{ref}}); err != nil {
			return err
		}
		_, err := protocol.Of(s.client).Progress(ctx,
			protocol.ProgressReport{WorkerID: s.worker, StepUUID: ref.StepUUID, Token: ref.Token,
				ProgressPercent: 50})
		if err != nil {
			return err
		}
		if _, err := protocol.Of(s.client).Heartbeat(ctx, protocol.Heartbeat{WorkerID: s.worker,
			Steps: []protocol.LeaseRef{ref}}); err != nil {
			return err
		}
		_, err = protocol.Of(s.client).Settle(ctx, protocol.SettleRequest{WorkerID: s.worker, Results: []protocol.StepResult{
			{StepUUID: ref.StepUUID, Token: ref.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`"slow"`)}}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *story) end(ref string) *crashtest.Found {
	for i := range s.found {
		if s.found[i].Task.CorrelationID == ref {
			return &s.found[i]
		}
	}
	return &crashtest.Found{Steps: make([]tasker.Step, 2)}
}

func (s *story) forget(ref string) {
	for i := range s.found {
		if s.found[i].Task.CorrelationID == ref {
			s.found = append(s.found[:i:i], s.found[i+1:]...)
			return
		}
	}
}

func (s *story) step(ref string, n int) uuid.UUID { return s.end(ref).Steps[n].StepUUID }

// reports returns a step's reported results, oldest first: the first was accepted, the last is stale.
func (s *story) reports(step uuid.UUID) []*crashtest.Report {
	var all []*crashtest.Report
	for i := range s.Reports {
		if s.Reports[i].Step == step {
			all = append(all, &s.Reports[i])
		}
	}
	return all
}

// lease returns the last report by a verb of a task's only step, a stale one.
func (s *story) lease(ref, verb string) *crashtest.Report {
	var last *crashtest.Report
	for _, r := range s.reports(s.step(ref, 0)) {
		if r.Verb == verb {
			last = r
		}
	}
	return last
}

func (s *story) handouts(step uuid.UUID) []*crashtest.Handout {
	var all []*crashtest.Handout
	for i := range s.Handouts {
		if s.Handouts[i].Step == step {
			all = append(all, &s.Handouts[i])
		}
	}
	return all
}

func (s *story) submitted(ref string) []*crashtest.Submit {
	var all []*crashtest.Submit
	for i := range s.Submits {
		if s.Submits[i].Ref == ref {
			all = append(all, &s.Submits[i])
		}
	}
	return all
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

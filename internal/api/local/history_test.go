package local_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestStepHistory(t *testing.T) {
	t.Parallel()
	const begun = ">pending pending>enqueued enqueued>in_progress "
	for name, test := range map[string]struct {
		fail bool // the first attempt, before end
		end  func(*life) error
		want string
	}{
		"CancelledWhileWaitingForRetry": {true, (*life).cancel,
			begun + "in_progress>waiting_for_retry waiting_for_retry>cancelled"},
		"CancelledWhileRunning": {false, (*life).cancel, begun + "in_progress>cancelled"},
		"ResolvedWhileWaitingForRetry": {true, (*life).resolve,
			begun + "in_progress>waiting_for_retry waiting_for_retry>resolved_manually"},
		"ResolvedWhileRunning":  {false, (*life).resolve, begun + "in_progress>resolved_manually"},
		"CompletedWhileRunning": {false, (*life).complete, begun + "in_progress>complete"},
		"ExpiredWhileWaitingForRetry": {true, (*life).expire,
			begun + "in_progress>waiting_for_retry waiting_for_retry>error"},
		"ResetAndCancelled": {true, func(l *life) error {
			if err := l.act(tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "op", Reason: "now"}); err != nil {
				return err
			}
			return l.cancel()
		}, begun + "in_progress>waiting_for_retry waiting_for_retry>pending pending>cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := begin(t)
			if test.fail {
				l.report(t, protocol.StepResult{Status: protocol.ResultFailed, Error: &tasker.Failure{Message: "no"}})
			}
			if err := test.end(l); err != nil {
				t.Fatal(err)
			}
			h, err := l.b.TaskHistory(l.ctx, l.step.TaskUUID)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tr := range h.Transitions {
				if tr.StepUUID != nil {
					got = append(got, tr.From+">"+tr.To)
				}
			}
			if path := strings.Join(got, " "); path != test.want {
				t.Errorf("the history is\n%s, want\n%s", path, test.want)
			}
			if n := len(h.Attempts); n == 0 || h.Attempts[0].Lease != 1 || n > 1 && h.Attempts[1].Lease != 0 {
				t.Errorf("the history lists the attempts %+v, want that of the one lease", h.Attempts)
			}
		})
	}
}

func TestActOnRunningStep(t *testing.T) {
	t.Parallel()
	l := begin(t)
	if err := l.resolve(); err != nil {
		t.Fatal(err)
	}
	h, err := l.b.TaskHistory(l.ctx, l.step.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range h.Transitions {
		if tr.StepUUID != nil && tr.To == string(tasker.StepResolvedManually) {
			if tr.Actor != "op" || tr.Reason != "by hand" {
				t.Errorf("the transition is %+v", tr)
			}
			return
		}
	}
	t.Error("the transition is missing")
}

// life is one running step, on a clock that advances with every reading.
type life struct {
	ctx    context.Context
	clock  *clock
	b      *node.Node
	worker uuid.UUID
	step   protocol.Assignment
}

// minute has a deadline shorter than its retry delay.
const minute = `
name: minute
namespace_name: default
version: 1.0.0
lifecycle: {max_duration_minutes: 1}
steps: [{name: x, handler: x, retry: {max_attempts: 9, backoff: fixed, backoff_base_ms: 600000, max_backoff_ms: 600000}}]
`

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

func begin(t *testing.T) *life {
	t.Helper()
	l := &life{ctx: t.Context(), clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	var err error
	l.b, err = node.Open(l.ctx, "memory:", node.Options{Now: func() time.Time {
		return l.clock.advance(time.Millisecond)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.b.Close() })
	if _, err := l.b.RegisterTemplate(l.ctx, tasker.TemplateSource{YAML: minute}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.b.SubmitTasks(l.ctx, tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "minute"}}}); err != nil {
		t.Fatal(err)
	}
	w, err := l.b.RegisterWorker(l.ctx,
		protocol.WorkerRegistration{Name: "w", Namespaces: []string{protocol.AllNamespaces}})
	if err != nil {
		t.Fatal(err)
	}
	l.worker = w.WorkerID
	resp, err := l.b.Poll(l.ctx, protocol.PollRequest{WorkerID: l.worker, Start: true})
	if err != nil || len(resp.Steps) != 1 {
		t.Fatalf("the poll brought %+v, %v", resp, err)
	}
	l.step = resp.Steps[0]
	return l
}

func (l *life) report(t *testing.T, r protocol.StepResult) {
	t.Helper()
	r.StepUUID, r.Token = l.step.StepUUID, l.step.Token
	answers, err := l.b.Settle(l.ctx, protocol.SettleRequest{WorkerID: l.worker, Results: []protocol.StepResult{r}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("the report was answered %+v, %v", answers, err)
	}
}

func (l *life) cancel() error {
	_, err := l.b.CancelTasks(l.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{l.step.TaskUUID}, CancelledBy: "op"})
	return err
}

func (l *life) expire() error {
	l.clock.advance(2 * time.Minute)
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.b.Run(ctx) }()
	_, err := l.b.Task(l.ctx, l.step.TaskUUID, 20*time.Second)
	cancel()
	<-ended // it says that it was cancelled
	return err
}

func (l *life) resolve() error {
	return l.act(tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "op", Reason: "by hand"})
}

func (l *life) complete() error {
	return l.act(tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "op", Reason: "by hand",
		CompletionData: &tasker.CompletionData{Result: json.RawMessage(`1`)}})
}

func (l *life) act(a tasker.StepAction) error {
	_, err := l.b.ActOnStep(l.ctx, l.step.TaskUUID, l.step.StepUUID, a)
	return err
}

// TestHistoryOfWhatWasCharged: a charged step that never started has the number of its attempt.
func TestHistoryOfWhatWasCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), settings.Config{Leases: settings.Leases{FreeRequeueFraction: -1}})
	id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
	a := r.take(t, false)
	r.wait(t, time.Minute)
	h, err := r.TaskHistory(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Attempts) != 1 || a.Attempt != 1 || h.Attempts[0].Attempt != 1 {
		t.Errorf("handed out as attempt %d, the history has %+v", a.Attempt, h.Attempts)
	}
}

// TestHistoryOfWaits: a step that waits outside of workers never appears in a queue.
func TestHistoryOfWaits(t *testing.T) {
	t.Parallel()
	l := begin(t)
	if _, err := l.b.RegisterTemplate(l.ctx, tasker.TemplateSource{YAML: "name: waits\nversion: \"1\"\nsteps:\n" +
		"- {name: cool, wait: {for: 1h}}\n- {name: ask, wait: {approval: Well?}}\n" +
		"- {name: deny, wait: {approval: Well?}}\n- {name: pay, wait: {approval: Well?}}\n"}); err != nil {
		t.Fatal(err)
	}
	r, err := l.b.SubmitTasks(l.ctx, tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "waits"}}})
	if err != nil {
		t.Fatal(err)
	}
	id := r[0].TaskUUID
	if err := l.b.RunOnce(l.ctx); err != nil {
		t.Fatal(err)
	}
	steps, err := l.b.Steps(l.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		act := tasker.StepAction{Reason: "r", DecidedBy: "ann",
			ActionType: map[string]string{"ask": tasker.Approve, "deny": tasker.Reject}[s.Name]}
		if act.ActionType == "" {
			continue
		}
		if _, err := l.b.ActOnStep(l.ctx, id, s.StepUUID, act); err != nil {
			t.Fatal(err)
		}
	}
	l.clock.advance(2 * time.Hour)
	if err := l.b.RunOnce(l.ctx); err != nil {
		t.Fatal(err)
	}
	h, err := l.b.TaskHistory(l.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tr := range h.Transitions {
		got[tr.StepName] += " " + tr.To
	}
	for step, want := range map[string]string{"cool": " pending waiting complete", "ask": " pending waiting complete",
		"deny": " pending waiting error", "pay": " pending waiting"} {
		if got[step] != want {
			t.Errorf("%s:%s, want%s", step, got[step], want)
		}
	}
}

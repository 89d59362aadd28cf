package memstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

var now = task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// pair returns a store with one task of two steps, the second depending on the first, and its rows.
func pair(t *testing.T) (*memstore.Store, *task.Task, []*task.Step) {
	t.Helper()
	s := memstore.New(nil)
	def := &task.Template{Namespace: "default", Name: "pair", Version: "1",
		Steps: []task.StepSpec{{Name: "a", Handler: "h"}, {Name: "b", Handler: "h", Dependencies: []string{"a"}}}}
	def.Link()
	route := &task.Route{Namespace: "default", Handler: "h"}
	id := s.IDs().Take(now.Time(), 3)
	row := &task.Task{ID: id, State: task.StepsInProcess, Counts: task.Counts{Active: 1, Pending: 1}, CreatedAt: now}
	steps := []*task.Step{
		{ID: s.IDs().Step(id, 1), TaskID: id, Ordinal: 1, State: task.StepPending, MaxAttempts: 1},
		{ID: s.IDs().Step(id, 2), TaskID: id, Ordinal: 2, State: task.StepPending, MaxAttempts: 1, OpenParents: 1},
	}
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		if _, err := tx.InsertTemplate(ctx, def); err != nil {
			return err
		}
		if err := tx.InsertRoute(ctx, route); err != nil {
			return err
		}
		row.DefID = def.DefID
		for _, st := range steps {
			st.DefID, st.RouteID = def.DefID, route.ID
		}
		if err := steps[0].Enqueue(now, task.Scheduling{}); err != nil {
			return err
		}
		return tx.InsertTasks(ctx, []*task.Task{row}, steps)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, row, steps
}

// A transaction that breaks an invariant is refused as a bug of the engine, and leaves no trace.
func TestInvariants(t *testing.T) {
	t.Parallel()
	settle := func(s *task.Step, state task.StepState) {
		s.State, s.Queue, s.Key, s.LeaseUntil, s.FinishedAt = state, task.NoQueue, 0, 0, now
	}
	for name, c := range map[string]struct {
		spoil func(row *task.Task, a, b *task.Step)
		want  string
	}{
		"SettledButQueued": {func(row *task.Task, a, _ *task.Step) { a.State = task.StepErrored }, "error in queue"},
		"ReadyInNoQueue":   {func(row *task.Task, a, _ *task.Step) { a.Queue, a.Key = 0, 0 }, "enqueued in queue 0"},
		"KeyWithoutQueue":  {func(row *task.Task, _, b *task.Step) { b.Key = 7 }, "pending in queue 0 under key 7"},
		"WaitingOnItsRoute": {func(row *task.Task, a, _ *task.Step) {
			a.State = task.StepWaitingForRetry
		}, "waiting_for_retry in queue"},
		"LeaseWithoutWorker": {func(row *task.Task, a, _ *task.Step) { a.LeaseUntil = now }, "with a lease until"},
		"CountsDiffer":       {func(row *task.Task, a, _ *task.Step) { settle(a, task.StepErrored) }, "its steps are"},
		"FinishedButNot":     {func(row *task.Task, _, _ *task.Step) { row.FinishedAt = now }, "with FinishedAt"},
		"CompleteWithOpenSteps": {func(row *task.Task, _, _ *task.Step) {
			row.State, row.FinishedAt = task.Complete, now
		}, "while steps of it can run"},
		"ImpossibleMove": {func(row *task.Task, _, _ *task.Step) {
			row.State = task.Initializing
		}, "cannot become initializing"},
		"RunsBeforeItsParent": {func(row *task.Task, _, b *task.Step) {
			b.OpenParents = 0
			b.State, b.Queue, b.Key = task.StepEnqueued, b.RouteID, 1
			row.Counts = task.Counts{Active: 2}
		}, "with 1 open parents"},
		"ForgottenByItsParent": {func(row *task.Task, a, b *task.Step) {
			settle(a, task.StepComplete)
			row.Counts = task.Counts{Done: 1, Pending: 1}
		}, "open parents of 0"},
		"NothingHoldsItBack": {func(row *task.Task, a, b *task.Step) {
			settle(a, task.StepComplete)
			b.OpenParents = 0
			row.Counts = task.Counts{Done: 1, Pending: 1}
		}, "nothing holds it back"},
		"HandedOutUnderOneToken": {func(row *task.Task, a, _ *task.Step) {
			a.State, a.Queue, a.LeaseUntil = task.StepAssigned, task.Leases, now
		}, "handed out again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, row, steps := pair(t)
			c.spoil(row, steps[0], steps[1])
			err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
				if err := tx.SaveTasks(ctx, []*task.Task{row}); err != nil {
					return err
				}
				return tx.SaveSteps(ctx, steps)
			})
			if task.CodeOf(err) != task.Internal || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
			stored, err := s.FindTask(t.Context(), row.ID)
			if err != nil || stored.State != task.StepsInProcess || stored.FinishedAt != 0 {
				t.Errorf("stored is %+v, error %v", stored, err)
			}
		})
	}
}

func TestTokensNeverGoBack(t *testing.T) {
	t.Parallel()
	s, _, steps := pair(t)
	save := func() error {
		return s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error { return tx.SaveSteps(ctx, steps[:1]) })
	}
	if err := steps[0].Claim(1, now, now+1); err != nil {
		t.Fatal(err)
	}
	if err := save(); err != nil {
		t.Fatal(err)
	}
	steps[0].Token--
	if err := save(); task.CodeOf(err) != task.Internal {
		t.Errorf("got the error %v", err)
	}
}

func TestLeaseEndsOnce(t *testing.T) {
	t.Parallel()
	s, row, steps := pair(t)
	attempt := task.Attempt{TaskID: row.ID, StepID: steps[0].ID, Token: 1, Outcome: task.Failed}
	add := func() error {
		return s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			return tx.AddAttempts(ctx, []task.Attempt{attempt})
		})
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if err := add(); task.CodeOf(err) != task.Internal {
		t.Errorf("the same lease ended twice: got the error %v", err)
	}
}

func TestKeyOfNoTask(t *testing.T) {
	t.Parallel()
	s, _, _ := pair(t)
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		ask := engine.KeyAsk{Name: engine.KeyName{Namespace: "default", Key: "k"},
			To: engine.Binding{Task: s.IDs().Take(now.Time(), 1)}}
		_, err := s.KeyStore().TakeKeys(ctx, tx, []engine.KeyAsk{ask}, now, now+1, true)
		return err
	})
	if task.CodeOf(err) != task.Internal {
		t.Errorf("got the error %v", err)
	}
}

// A panic rolls back and continues, and the store remains usable.
func TestPanic(t *testing.T) {
	t.Parallel()
	s, row, _ := pair(t)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = s.Write(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			if err := tx.AddEvents(ctx, []task.Event{{TaskID: row.ID, At: now}}); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	events, err := s.FindEvents(t.Context(), row.ID)
	if err != nil || len(events) != 0 {
		t.Errorf("%d events, error %v", len(events), err)
	}
	if err := s.Write(t.Context(), func(context.Context, engine.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

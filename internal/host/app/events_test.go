package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/worker/protocol"
)

func listen(t *testing.T, n *node, filter tasker.EventFilter) <-chan tasker.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan tasker.Event, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		for event, err := range n.Events(ctx, filter) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err == nil {
				heard <- event
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return heard
}

func next(t *testing.T, heard <-chan tasker.Event, want tasker.EventType) tasker.Event {
	t.Helper()
	select {
	case e := <-heard:
		if e.Type != want {
			t.Fatalf("heard %+v, want %s", e, want)
		}
		return e
	case <-time.After(time.Minute):
		t.Fatalf("no event %s for a minute", want)
	}
	return tasker.Event{}
}

func carryOut(t *testing.T, n *node, handler string) {
	t.Helper()
	w, err := protocol.Of(n.Client).RegisterWorker(t.Context(),
		protocol.WorkerRegistration{Name: "w", Handlers: []string{handler}})
	if err != nil {
		t.Fatal(err)
	}
	work, err := protocol.Of(n.Client).Poll(t.Context(),
		protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 1, WaitMS: 20_000, Start: true})
	if err != nil || len(work.Steps) != 1 {
		t.Fatalf("%+v, %v", work, err)
	}
	step := work.Steps[0]
	answers, err := protocol.Of(n.Client).Settle(t.Context(), protocol.SettleRequest{WorkerID: w.WorkerID,
		Results: []protocol.StepResult{{StepUUID: step.StepUUID, Token: step.Token, Status: protocol.ResultCompleted}}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("%+v, %v", answers, err)
	}
}

func TestEventsAcrossNodes(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, b := runNode(t, dsn), runNode(t, dsn)
	heard := listen(t, a, tasker.EventFilter{Name: "job"})
	opened := next(t, heard, tasker.EventStreamOpen)
	next(t, heard, tasker.EventStreamGap) // the other node has begun to send
	receipt, err := b.Submit(t.Context(), tasker.TaskRequest{TaskType: "job", Tags: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Submit(t.Context(), tasker.TaskRequest{TaskType: "other"}); err != nil {
		t.Fatal(err)
	}
	e := next(t, heard, tasker.EventTaskSubmitted)
	if e.TaskUUID == nil || *e.TaskUUID != receipt.TaskUUID || len(e.Tags) != 1 || e.ToState != tasker.TaskStepsInProcess {
		t.Errorf("heard %+v of the submission", e)
	}
	carryOut(t, b, "job")
	if e := next(t, heard, tasker.EventTaskState); *e.TaskUUID != receipt.TaskUUID || e.ToState != tasker.TaskComplete ||
		e.Cause != "settle" {
		t.Errorf("heard %+v of the result", e)
	}
	if opened.ID == e.ID {
		t.Errorf("two events have the id %s", e.ID)
	}
	// The other node did not see this stream.
	next(t, listen(t, b, tasker.EventFilter{LastEventID: e.ID}), tasker.EventStreamGap)
}

func TestWaitAcrossNodes(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"News": "", "NoNews": "&pgbouncer=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.DSN(t) + more
			a, b := runNode(t, dsn), runNode(t, dsn)
			receipt, err := a.Submit(t.Context(), tasker.TaskRequest{TaskType: "job"})
			if err != nil {
				t.Fatal(err)
			}
			heard := listen(t, a, tasker.EventFilter{Tasks: []uuid.UUID{receipt.TaskUUID}, UntilSettled: true})
			next(t, heard, tasker.EventStreamOpen)
			next(t, heard, tasker.EventTaskState)
			waited := make(chan error, 1)
			go func() {
				got, err := a.Wait(t.Context(), receipt.TaskUUID)
				if err == nil && got.State != tasker.TaskComplete {
					err = errors.New("the task is " + string(got.State))
				}
				waited <- err
			}()
			carryOut(t, b, "job")
			begun := time.Now()
			if err := <-waited; err != nil {
				t.Error(err)
			}
			if e := next(t, heard, tasker.EventTaskState); e.ToState != tasker.TaskComplete {
				t.Errorf("heard %+v of the result", e)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %v to hear of the result", took)
			}
		})
	}
}

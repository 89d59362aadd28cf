package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestCheckpoints: the next attempt receives the last checkpoint; operators see it, masked as the template says, and
// can discard it.
func TestCheckpoints(t *testing.T) { onEveryStore(t, testCheckpoints) }

type rowPosition struct {
	Row  int    `json:"row"`
	Card string `json:"card"`
}

func testCheckpoints(t *testing.T, s *server) {
	if _, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: cards}); err != nil {
		t.Fatal(err)
	}
	begins, large := make(chan rowPosition, 9), make(chan error, 9)
	w := worker.New(s.Client, &worker.Options{Name: "w", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	w.Handle("charge", func(_ context.Context, job *worker.Job) (any, error) {
		at := rowPosition{Card: cardSecret}
		if _, err := job.LastCheckpoint(&at); err != nil {
			return nil, err
		}
		begins <- at
		for range 2 {
			at.Row++
			if err := job.Checkpoint(at); err != nil {
				return nil, err
			}
		}
		large <- job.Checkpoint(strings.Repeat("x", 70_000))
		return nil, errors.New("not yet")
	})
	defer s.runWorker(t, w)()

	reader := s.keyed(t, []string{"read"})
	task := s.submit(t, tasker.NewTask("pay", 1, tasker.WithNamespace("shop"))).TaskUUID
	failed := func(want rowPosition) tasker.Step {
		t.Helper()
		if got := <-begins; got != want {
			t.Errorf("an attempt began with %+v, want %+v", got, want)
		}
		if err := <-large; tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("a large checkpoint: %v", err)
		}
		if _, err := s.Wait(s.ctx, task); err != nil {
			t.Fatal(err)
		}
		steps, err := reader.Steps(s.ctx, task)
		if err != nil || len(steps) != 1 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
		return steps[0]
	}
	step := failed(rowPosition{Card: cardSecret})
	c := step.Checkpoint
	if c == nil || c.Bytes != len(`{"row":2,"card":"`+cardSecret+`"}`) || c.Lease != 1 ||
		string(c.Value) != `{"row":2,"card":"[masked]"}` {
		t.Errorf("the step shows %+v", c)
	}
	explained, err := s.ExplainTask(s.ctx, task)
	if err != nil || !strings.Contains(explained.Steps[0].Why, "Its next attempt receives the checkpoint of") {
		t.Errorf("explained: %+v, %v", explained, err)
	}
	reset := tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ada", Reason: "repaired"}
	if _, err := s.ActOnStep(s.ctx, task, step.StepUUID, reset); err != nil {
		t.Fatal(err)
	}
	failed(rowPosition{Row: 2, Card: cardSecret})
	reset.DiscardCheckpoint = true
	if _, err := s.ActOnStep(s.ctx, task, step.StepUUID, reset); err != nil {
		t.Fatal(err)
	}
	failed(rowPosition{Card: cardSecret})
	complete := tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ada", Reason: "by hand",
		CompletionData: &tasker.CompletionData{Result: json.RawMessage("1")}, DiscardCheckpoint: true}
	if _, err := s.ActOnStep(s.ctx, task, step.StepUUID, complete); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("discarded with another act: %v", err)
	}
	complete.DiscardCheckpoint = false
	done, err := s.ActOnStep(s.ctx, task, step.StepUUID, complete)
	if err != nil || done.Checkpoint != nil {
		t.Errorf("completed by hand: %+v, %v", done, err)
	}
}

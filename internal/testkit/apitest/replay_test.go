package apitest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

// TestReplay: a failed task is listed, runs again, and shows it.
func TestReplay(t *testing.T) { onEveryStore(t, testReplay) }

func testReplay(t *testing.T, s *server) {
	var fixed atomic.Bool
	s.work(t, map[string]worker.Handler{"charge": func(context.Context, *worker.Job) (any, error) {
		if !fixed.Load() {
			return nil, errors.New("no connection to 10.0.0.1")
		}
		return "charged", nil
	}})
	never := 0
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "charge", MaxRetries: &never, Priority: tasker.Low})
	s.settled(t, receipt, tasker.TaskError)

	page, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{TaskType: "charge"})
	if err != nil || len(page.Tasks) != 1 || page.TotalCount != 1 {
		t.Fatalf("the queue is %+v, %v", page, err)
	}
	l := page.Tasks[0]
	if l.TaskID != receipt.TaskUUID || l.Fingerprint != "no connection to #.#.#.#" || !l.Retryable || l.ReplayCount != 0 ||
		l.LastError == nil ||
		l.State != tasker.TaskError || l.Priority != tasker.Low || l.FailureReason != tasker.ReasonMaxRetries ||
		l.RetryCount != 0 {
		t.Errorf("the entry is %+v", l)
	}
	no := false
	if page, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{Retryable: &no}); err != nil || len(page.Tasks) != 0 {
		t.Errorf("of those that are final: %+v, %v", page, err)
	}
	if _, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{Cursor: "x"}); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a cursor of nothing: %v", err)
	}

	fixed.Store(true)
	replay, err := s.ReplayTask(s.ctx, receipt.TaskUUID,
		operate.ReplayRequest{ResetRetryCount: true, NewPriority: tasker.High, Reason: "fixed", ReplayedBy: "ann"})
	if err != nil || replay.ReplayCount != 1 || replay.Priority != tasker.High || replay.ReplayedSteps != 1 ||
		*replay.CaseID != l.CaseID || replay.ReplayedBy != "ann" {
		t.Fatalf("the replay is %+v, %v", replay, err)
	}
	task := s.settled(t, receipt, tasker.TaskComplete)
	if task.ReplayCount != 1 || task.LastReplayedBy != "ann" || !task.LastReplayedAt.Equal(replay.ReplayedAt) ||
		task.Priority != tasker.High {
		t.Errorf("the task is %+v", task)
	}
	found, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil || found.ReplayCount != 1 || found.LastReplayedBy != "ann" ||
		found.ResolutionStatus != tasker.CasePending {
		t.Errorf("the case is %+v, %v", found, err)
	}
	history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, tr := range history.Transitions {
		if tr.Actor != "" {
			told = append(told, tr.StepName+" "+tr.From+" -> "+tr.To+" "+tr.Actor+" "+tr.Reason)
		}
	}
	if diff := cmp.Diff([]string{"charge error -> pending ann fixed", " error -> enqueuing_steps ann fixed"},
		told); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	if page, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{}); err != nil || page.TotalCount != 0 {
		t.Errorf("the queue is %+v, %v", page, err)
	}
	if _, err := s.ReplayTask(s.ctx, receipt.TaskUUID,
		operate.ReplayRequest{}); tasker.ErrorCode(err) != tasker.CodeWrongState {
		t.Errorf("a second replay: %v", err)
	}
	if _, err := s.ReplayTask(s.ctx, receipt.TaskUUID,
		operate.ReplayRequest{NewPriority: "urgent"}); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a priority that there is not: %v", err)
	}
}

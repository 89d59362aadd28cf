package apitest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

const errands = `
name: errands
version: "1"
steps:
- {name: fetch, handler: fetch}
- {name: pay, handler: pay, dependencies: [fetch]}
`

// TestResultTellsTheTruth: Result is the same over HTTP and in process, and always an error for a failed task, even if
// the requested step succeeded.
func TestResultTellsTheTruth(t *testing.T) { onEveryStore(t, testResultTellsTheTruth) }

func testResultTellsTheTruth(t *testing.T, s *server) {
	s.register(t, errands)
	s.work(t, map[string]worker.Handler{
		"fetch": func(context.Context, *worker.Job) (any, error) { return 5, nil },
		"pay": func(context.Context, *worker.Job) (any, error) {
			return nil, worker.NonRetryable(&tasker.Failure{Code: "declined", Message: "card declined", HTTPStatus: 402})
		},
	})
	failed := s.submit(t, tasker.NewTask("errands", nil)).TaskUUID
	done := s.submit(t, tasker.NewHandlerTask("fetch", nil)).TaskUUID
	waiting := s.submit(t, tasker.NewHandlerTask("nobody", nil)).TaskUUID
	if _, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{waiting},
		CancelledBy: "ann", Reason: "wrong shop"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tasker.Client{"HTTP": s.Client, "InProcess": tasker.NewClient(s.engine)} {
		var out int
		if err := c.Result(s.ctx, done, "", &out); err != nil || out != 5 {
			t.Errorf("%s: a task that succeeded: %d, %v", name, out, err)
		}
		for _, step := range []string{"", "fetch", "pay"} {
			out = 0
			err := c.Result(s.ctx, failed, step, &out)
			var of *tasker.TaskFailure
			var report *tasker.Failure
			if tasker.ErrorCode(err) != tasker.CodeWrongState || !errors.As(err, &of) || !errors.As(err, &report) || out != 0 {
				t.Errorf("%s: step %q of a task in error: %d, %v", name, step, out, err)
				continue
			}
			if of.State != tasker.TaskError || of.Step != "pay" || report.Code != "declined" || report.HTTPStatus != 402 ||
				err.Error() != "task "+failed.String()+" is in error: step pay failed: card declined" {
				t.Errorf("%s: step %q: %v, %+v, %+v", name, step, err, of, report)
			}
		}
		err := c.Result(s.ctx, waiting, "", &out)
		var of *tasker.TaskFailure
		if tasker.ErrorCode(err) != tasker.CodeWrongState || !errors.As(err, &of) || of.State != tasker.TaskCancelled ||
			err.Error() != "task "+waiting.String()+" was cancelled by ann: wrong shop" {
			t.Errorf("%s: a cancelled task: %v", name, err)
		}
		if err := c.Result(s.ctx, done, "nope", &out); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("%s: an unknown step: %v", name, err)
		}
	}
}

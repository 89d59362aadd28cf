package tasktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
)

// A handler reads an earlier attempt's checkpoint, and may store its own until its lease is lost, even during a drain.
func TestJobCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			interrupt error
			want      string // what is stored after the interrupt
		}{{worker.ErrDraining, `"late"`}, {worker.ErrLeaseLost, ""}, {worker.ErrCancelled, ""}} {
			var late error
			out := tasktest.RunHandler(t, func(ctx context.Context, job *worker.Job) (any, error) {
				var at struct{ Row int }
				if found, err := job.LastCheckpoint(&at); !found || err != nil || at.Row != 5 {
					t.Errorf("received %+v, %t, %v", at, found, err)
				}
				if found, err := job.LastCheckpoint(new(string)); found || err == nil {
					t.Errorf("received as a text: %t, %v", found, err)
				}
				if err := job.Checkpoint(make(chan int)); err == nil {
					t.Error("a channel is no checkpoint")
				}
				if err := job.Checkpoint(at); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				late = job.Checkpoint("late")
				return nil, ctx.Err()
			}, tasktest.Step{Checkpoint: map[string]int{"Row": 5}, Interrupt: tc.interrupt, InterruptAfter: time.Minute})
			got := ""
			if len(out.Checkpoints) == 2 {
				got = string(out.Checkpoints[1])
			}
			if len(out.Checkpoints) == 0 || string(out.Checkpoints[0]) != `{"Row":5}` || got != tc.want {
				t.Errorf("%v: stored %s", tc.interrupt, out.Checkpoints)
			}
			if tc.want == "" && !errors.Is(late, tc.interrupt) || tc.want != "" && late != nil {
				t.Errorf("%v: the last checkpoint: %v", tc.interrupt, late)
			}
		}
		out := tasktest.RunHandler(t, func(_ context.Context, job *worker.Job) (any, error) {
			return job.LastCheckpoint(nil)
		}, tasktest.Step{})
		if string(out.Result) != "false" {
			t.Errorf("without one: %s", out.Result)
		}
	})
}

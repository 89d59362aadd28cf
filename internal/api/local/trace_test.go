package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

const inTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceContextTravels(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, `
name: chain
namespace_name: default
version: 1.0.0
steps:
  - {name: a, handler: {callable: a}}
  - {name: b, handler: {callable: b}, dependencies: [a]}
`)
		id := r.submit(t, tasker.TaskRequest{Name: "chain", TraceParent: inTrace})
		untraced := r.submit(t, tasker.TaskRequest{TaskType: "alone"})
		check := func(a protocol.Assignment, what string) {
			t.Helper()
			want := inTrace
			if a.TaskUUID == untraced {
				want = ""
			}
			if a.TraceParent != want {
				t.Errorf("%s: step %s is worked in %q, want %q", what, a.StepName, a.TraceParent, want)
			}
		}
		first := r.take(t, true)
		check(first, "first attempt")
		r.report(t, first, failed("no", false))
		other := r.take(t, true)
		check(other, "without a trace")
		r.report(t, other, completed(`1`))
		r.wait(t, time.Hour)
		again := r.take(t, true)
		check(again, "second attempt")
		r.report(t, again, completed(`1`))
		check(r.take(t, true), "dependant")

		task, err := r.Task(t.Context(), id, 0)
		if err != nil || task.TraceParent != inTrace {
			t.Errorf("the task is in trace %q, %v", task.TraceParent, err)
		}
	})
}

func TestTraceContextIsChecked(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		_, err := r.Submit(t.Context(), tasker.TaskRequest{TaskType: "alone", TraceParent: "abc"})
		if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), "traceparent") {
			t.Errorf("the submission is answered %v", err)
		}
	})
}

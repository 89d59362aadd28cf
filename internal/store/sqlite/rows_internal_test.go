package sqlite

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A completed step stays cached exactly as long as its task is live, and the counts return to 0.
func TestCompletedStepsAreCached(t *testing.T) {
	t.Parallel()
	r := newRows()
	k := &task.Task{ID: task.MakeID(100, 0), State: task.StepsInProcess, Counts: task.Counts{Active: 1, Pending: 2}}
	r.putTask(k)
	done := &task.Step{ID: task.MakeID(101, 0), TaskID: k.ID, Ordinal: 1, State: task.StepComplete, Result: []byte(`{"n":1}`)}
	large := &task.Step{ID: task.MakeID(102, 0), TaskID: k.ID, Ordinal: 2, State: task.StepComplete,
		Result: make([]byte, maxKept+1)}
	failed := &task.Step{ID: task.MakeID(103, 0), TaskID: k.ID, Ordinal: 3, State: task.StepErrored}
	for _, s := range []*task.Step{done, done, large, failed} {
		r.putStep(s)
	}
	if _, ok := r.step(done.ID); !ok || len(r.steps) != 1 || r.bytes != len(done.Result) {
		t.Errorf("cached are %d steps and %d bytes, the completed one: %t", len(r.steps), r.bytes, ok)
	}
	k.State, k.Counts = task.Complete, task.Counts{Done: 3}
	r.putTask(k)
	if len(r.steps)+len(r.tasks)+len(r.contexts)+r.bytes != 0 {
		t.Errorf("a settled task leaves %d steps, %d tasks, %d contexts and %d bytes", len(r.steps), len(r.tasks),
			len(r.contexts), r.bytes)
	}
}

// A long queue leaves room for begun tasks.
func TestQueueLeavesRoom(t *testing.T) {
	t.Parallel()
	r := newRows()
	for n := range int64(maxNewRows) {
		if !r.hasRoom() {
			t.Fatalf("no room after %d tasks", n)
		}
		r.putTask(&task.Task{ID: task.MakeID(2*n, 0), State: task.StepsInProcess, Counts: task.Counts{Active: 1}})
	}
	if r.hasRoom() {
		t.Error("a queue fills the cache")
	}
}

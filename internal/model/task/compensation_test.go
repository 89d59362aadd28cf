package task_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TestCompensationBegun: compensation has begun once one of its steps is decided.
func TestCompensationBegun(t *testing.T) {
	tpl := &task.Template{Steps: []task.StepSpec{{Name: "a"}, {Name: "undo", OnFailure: true}}}
	for name, test := range map[string]struct {
		undo  task.Step
		begun bool
	}{
		"untouched":      {task.Step{State: task.StepPending}, false},
		"skipped":        {task.Step{State: task.StepSkipped}, true},
		"was reset":      {task.Step{State: task.StepPending, Queue: task.Timers, Token: 1}, true},
		"is put off":     {task.Step{State: task.StepPending, Queue: task.Timers}, true},
		"had an attempt": {task.Step{State: task.StepPending, Token: 1}, true},
	} {
		test.undo.Ordinal = 2
		steps := []*task.Step{{Ordinal: 1, State: task.StepErrored}, &test.undo}
		if got := tpl.CompensationOf(steps).Begun; got != test.begun {
			t.Errorf("the compensation step %s: begun %t, want %t", name, got, test.begun)
		}
	}
}

package kernel

import (
	"fmt"
	"math"

	"github.com/taskerhq/tasker/internal/model/task"
)

// faultOf describes the damage that keeps workers from processing a step, or returns "". It comes from an edited row
// or a partly restored backup, and may be in the context.
func faultOf(w Work, t *task.Template) string {
	switch {
	case w.Step.Unread != "":
		return w.Step.Unread
	case w.Task.Unread != "":
		return w.Task.Unread
	case t.Unread != "":
		return t.Unread
	case !t.Has(w.Step):
		return fmt.Sprintf("its template has no step %d", w.Step.Ordinal)
	}
	if fault := task.JSONFault(w.Task.Context, math.MaxInt); fault != "" {
		return "the context of the task " + fault
	}
	return ""
}

// failDamaged allows no retry, because the row stays damaged. The poll that found it still delivers the others.
func failDamaged(u *Unit, w Work, fault string) error {
	f := &task.Failure{Type: "damaged_row", Code: "DAMAGED", Message: "the step cannot be handed out: " + fault}
	f.Class = task.ClassOf(f)
	attempt := w.Step.EndAttempt(u.Now, task.Failed, f)
	from := w.Step.State
	if err := w.Step.Exhaust(u.Now); err != nil {
		return err
	}
	u.ended(w, from, attempt)
	return nil
}

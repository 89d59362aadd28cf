package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// muchReturned is from how many returns in a row on an explanation tells of them.
const muchReturned = 10

// returns is a sentence on the workers that were lost with a step one after the other, or on how often it came back,
// "" for neither. The last failure says the same, so a step that it explains needs no sentence.
func (x *explainer) returns(s *task.Step) string {
	a := x.lastAttempt(s)
	if a == nil || s.State.Terminal() || a.Failure != nil && !s.State.Leased() && s.State != task.StepEnqueued {
		return ""
	}
	switch r := task.ReturnsOf(s.ID, x.records.Attempts, x.records.Acts); {
	case r.Workers() > 1:
		return fmt.Sprintf(" Before, %s.", r)
	case r.All >= muchReturned:
		return fmt.Sprintf(" It came back %d times in a row without an end: its workers snoozed or released it, or were "+
			"lost.", r.All)
	}
	return ""
}

package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// muchReturned is the number of returns in a row that an explanation mentions.
const muchReturned = 10

// returns is a sentence on consecutive lost workers, or on the number of returns; else "". A step whose last failure
// says so needs none.
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

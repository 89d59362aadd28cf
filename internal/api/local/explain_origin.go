package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// origin is a sentence on the message or the schedule that made the task; else "".
func (x *explainer) origin() string {
	if of := x.task.Meta.Schedule; of != nil {
		return scheduled(of)
	}
	if of := x.task.Meta.Child; of != nil {
		return childOrigin(of)
	}
	in := x.task.Meta.Intake
	if in == nil {
		return ""
	}
	s := fmt.Sprintf("The source %s took it in from the queue %s", in.Source, in.Queue)
	if in.Position != "" {
		s += fmt.Sprintf(", as message %s", in.Position)
	}
	if in.SentAt != 0 {
		s += fmt.Sprintf(", which was sent at %s", clock(in.SentAt))
	}
	return s + "."
}

func scheduled(of *task.Scheduled) string {
	switch of.Kind {
	case "missed":
		return fmt.Sprintf("The schedule %s submitted it for %s, a time that had been missed.", of.Name, clock(of.At))
	case "run":
		return fmt.Sprintf("An operator ran the schedule %s at %s.", of.Name, clock(of.At))
	case "backfill":
		return fmt.Sprintf("A backfill of the schedule %s submitted it for %s.", of.Name, clock(of.At))
	}
	return fmt.Sprintf("The schedule %s submitted it for %s.", of.Name, clock(of.At))
}

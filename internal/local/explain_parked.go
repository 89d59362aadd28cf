package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/task"
)

// parked explains a step that is ready and held back.
func (x *explainer) parked(s *task.Step) (why, next string) {
	return fmt.Sprintf("It has been ready since %s, and is held back.", clock(s.ReadyAt)),
		"It goes to its queue automatically when nothing holds it back."
}

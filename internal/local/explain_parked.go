package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/task"
)

// parked explains a step that is ready and held back.
func (x *explainer) parked(s *task.Step) (why, next string) {
	if _, ofTemplate := task.TemplateOf(s.Queue); ofTemplate {
		return fmt.Sprintf("It has been ready since %s. The pause of its template has ended.", clock(s.ReadyAt)),
			"It returns to its queue automatically, within seconds."
	}
	return fmt.Sprintf("It has been ready since %s, and is held back.", clock(s.ReadyAt)),
		"It goes to its queue automatically when nothing holds it back."
}

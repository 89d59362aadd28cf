package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) checkpoint(s *task.Step) string {
	c, ok := x.checkpoints[s.ID]
	switch {
	case !ok:
		return ""
	case s.State.Leased() && c.Token == s.Token:
		return fmt.Sprintf(" It stored a checkpoint of %s at %s.", wording.Count(c.Bytes, "byte"), clock(c.At))
	case s.State.Leased():
		return fmt.Sprintf(" It received a checkpoint of %s, which was stored at %s.", wording.Count(c.Bytes, "byte"),
			clock(c.At))
	}
	return fmt.Sprintf(" Its next attempt receives the checkpoint of %s that was stored at %s.",
		wording.Count(c.Bytes, "byte"), clock(c.At))
}

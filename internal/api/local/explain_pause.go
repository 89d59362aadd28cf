package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) paused(s *task.Step, p *task.Pause) (why, next string) {
	why = fmt.Sprintf("It has been ready since %s, and %s.", clock(s.ReadyAt), pausedText(p))
	if p.Until != 0 {
		return why, fmt.Sprintf("It can be claimed when the pause ends, at %s, in %s, or is resumed earlier (%s).",
			clock(p.Until), x.until(p.Until), resumeCommand(p))
	}
	return why, fmt.Sprintf("It can be claimed when the pause is resumed (%s).", resumeCommand(p))
}

func pausedText(p *task.Pause) string {
	s := fmt.Sprintf("the %s has been paused since %s by %s", p.PauseTarget, clock(p.At), p.Actor)
	if p.Reason != "" {
		s += ": " + firstLine(p.Reason)
	}
	return s
}

func resumeCommand(p *task.Pause) string {
	s := "tasker resume " + string(p.Kind) + " " + p.Namespace
	if p.Name != "" {
		s += "/" + p.Name
	}
	for _, c := range task.SplitCapabilities(p.Capabilities) {
		s += " --capability " + c
	}
	return s
}

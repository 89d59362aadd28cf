package local

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// breakLoop is the advice for a task whose steps wait for each other. Registration refuses cycles; one comes from
// damage or from another program.
const breakLoop = "Resolve or complete one of them, or cancel the task; then correct the template."

// loop describes the first cycle of steps that wait for each other. Template.Cycle is computed at the read of the
// template, so sound tasks are not walked.
func (x *explainer) loop() string {
	if x.tpl.Cycle == "" {
		return ""
	}
	for _, s := range x.steps {
		if found := x.loopBehind(s); found != nil {
			return x.inLoop(found)
		}
	}
	return ""
}

// loopBehind returns the cycle that a step waits for, or is part of; nil without one.
func (x *explainer) loopBehind(s *task.Step) []*task.Step {
	if x.tpl.Cycle == "" {
		return nil
	}
	return x.walk(s, nil, map[*task.Step]bool{})
}

// walk follows the parents that a step waits for until it reaches one on its path, and returns that cycle. done holds
// steps without a reachable cycle, so each step is visited once. A step that is not pending waits for no parent and
// ends the walk.
func (x *explainer) walk(s *task.Step, path []*task.Step, done map[*task.Step]bool) []*task.Step {
	if s.State != task.StepPending || done[s] {
		return nil
	}
	if i := slices.Index(path, s); i >= 0 {
		return path[i:]
	}
	path = append(path, s)
	for _, p := range x.spec(s).Parents {
		if found := x.walk(x.steps[p], path, done); found != nil {
			return found
		}
	}
	done[s] = true
	return nil
}

// inLoop is part of a sentence: no capital letter, no full stop.
func (x *explainer) inLoop(loop []*task.Step) string {
	if len(loop) == 1 {
		return "step " + x.spec(loop[0]).Name + " waits for itself"
	}
	names := make([]string, len(loop))
	for i, s := range loop {
		names[i] = x.spec(s).Name
	}
	return "steps " + strings.Join(names, ", ") + " wait for each other"
}

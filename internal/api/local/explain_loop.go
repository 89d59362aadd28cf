package local

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// breakLoop is the advice for a task whose steps wait for each other.
// A template with a cycle is refused at registration; one can be in the database only by damage or by another program.
const breakLoop = "Resolve or complete one of them, or cancel the task; then correct the template."

// loop describes the first cycle of steps that wait for each other, "" without one.
// Template.Cycle is computed when the template is read, so tasks of sound templates are not walked.
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

// loopBehind returns the steps of a cycle that a step waits for, or is part of; nil without one.
func (x *explainer) loopBehind(s *task.Step) []*task.Step {
	if x.tpl.Cycle == "" {
		return nil
	}
	return x.walk(s, nil, map[*task.Step]bool{})
}

// walk follows the parents that a step waits for until it reaches one on its path.
// It returns that part of the path, which is the cycle. done holds the steps from which no cycle is reachable, so each
// step is visited once. A step that is not pending waits for no parent any more and ends the walk.
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

// inLoop describes a cycle.
// It has no capital letter and no full stop: it becomes part of a sentence.
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

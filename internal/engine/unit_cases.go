package engine

import "github.com/taskerhq/tasker/internal/task"

// caseChanges are the cases that a unit opens or changes, and why.
type caseChanges struct {
	u *unit

	forcedErrors map[*task.Task]struct{}   // tasks in error whatever their steps say
	openings     []*opening                // become cases before the unit ends
	recoveries   map[*task.Task]string     // tasks that go on, and how they recovered
	replayed     map[*task.Task]struct{}   // tasks that an operator replayed
	unwatched    map[*task.Task]task.State // live tasks, and the state that they left

	opened, changed, recurred []*task.Case
}

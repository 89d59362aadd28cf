package engine

import "github.com/taskerhq/tasker/internal/task"

// loadedRows are the rows that a unit has loaded. Each step and task is there once, however often it is asked for.
type loadedRows struct {
	u *unit

	steps        map[task.ID]*task.Step
	tasks        map[task.ID]*task.Task
	siblingSteps map[stepKey]*task.Step   // steps of families; see unit_families.go
	families     map[task.ID][]*task.Step // families of which all steps are loaded
	lastTemplate *task.Template           // asked for last

	dirtySteps map[*task.Step]struct{}
	dirtyTasks map[*task.Task]struct{}
}

func newLoadedRows(u *unit) loadedRows {
	return loadedRows{u: u,
		steps: map[task.ID]*task.Step{}, tasks: map[task.ID]*task.Task{},
		siblingSteps: map[stepKey]*task.Step{}, families: map[task.ID][]*task.Step{},
		dirtySteps: map[*task.Step]struct{}{}, dirtyTasks: map[*task.Task]struct{}{}}
}

// changedStep has a step saved at the end of the unit.
func (lr *loadedRows) changedStep(s *task.Step) { lr.dirtySteps[s] = struct{}{} }

// changedTask has a task saved at the end of the unit.
func (lr *loadedRows) changedTask(t *task.Task) { lr.dirtyTasks[t] = struct{}{} }

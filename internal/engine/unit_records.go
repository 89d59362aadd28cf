package engine

import "github.com/taskerhq/tasker/internal/task"

// newRecords are rows that a unit only adds.
type newRecords struct {
	u *unit

	attempts []task.Attempt
	events   []task.Event
	acts     []task.Act
	contexts []*task.Task // their contexts were edited
}

package store

import (
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ShareTasks makes steps of one task in works share it, and returns works. A join returns the task once per step: two
// copies would each be changed and saved, and the second would undo the first.
func ShareTasks(works []engine.Work) []engine.Work {
	tasks := make(map[task.ID]*task.Task, len(works))
	for i, w := range works {
		if w.Step == nil {
			continue
		}
		if k, ok := tasks[w.Step.TaskID]; ok {
			works[i].Task = k
		} else {
			tasks[w.Step.TaskID] = w.Task
		}
	}
	return works
}

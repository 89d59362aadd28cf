package engine

import (
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (e *Engine) joinCases() {
	e.dueCases.unserved = due.New("the unserved step", func(s *task.Step) task.ID { return s.ID }, e.leaveUnserved)
	e.forgets = append(e.forgets, e.lifecycles.forget)
}

package postgres

import (
	"sync"

	"github.com/taskerhq/tasker/internal/task"
)

// sweep is how far the search for old tasks has come.
type sweep struct {
	mu   sync.Mutex
	from task.ID
}

func (s *sweep) at() task.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from
}

func (s *sweep) set(id task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = id
}

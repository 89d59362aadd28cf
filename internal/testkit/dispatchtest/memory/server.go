package memory

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Server is the content that several dispatchers share. It is safe for
// concurrent use.
type Server struct {
	now func() time.Time // only for the time limit of a filling

	mu      sync.Mutex
	steps   map[task.ID]*step
	queues  map[int64][]*step // waiting steps of a route in the order of their keys
	epoch   int               // under which it was filled last
	full    bool              // and whether that has ended
	run     int               // grows with each start
	filled  int               // the run in which it was filled
	filling *filling
	down    error

	hear map[*Dispatcher]func(map[int64]int)
}

type step struct {
	engine.Offered
	hold *engine.Hold // nil: it waits
}

type filling struct {
	by    *Dispatcher
	until time.Time
}

// NewServer returns an empty server, which has to be filled like any other.
func NewServer() *Server {
	s := &Server{now: time.Now, hear: map[*Dispatcher]func(map[int64]int){}}
	s.empty()
	return s
}

// Open returns a dispatcher like that of a further process.
func (s *Server) Open() *Dispatcher { return &Dispatcher{s: s} }

// Flush makes the server forget everything.
func (s *Server) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty()
	s.full, s.filling = false, nil
}

// Restart restarts the server. Its content stays, and is unreliable: the last moments may be missing.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run++
	s.filling = nil
}

// Fail makes every verb answer err, until it is called with nil.
func (s *Server) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

func (s *Server) empty() {
	s.steps, s.queues = map[task.ID]*step{}, map[int64][]*step{}
}

func (s *Server) beingFilled() bool {
	return s.filling != nil && s.now().Before(s.filling.until)
}

package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// submittedCache keeps what this process submitted a moment ago, so that a claim of it from
// the dispatcher asks the store for nothing. What is on it has not been touched
// since: whoever makes a step ready again gives it another key.
type submittedCache struct {
	// epoch grows whenever it is cleared: others may have been given since what was
	// submitted before.
	epoch atomic.Int64

	mu    sync.Mutex
	works map[task.ID]submittedStep // by step
	steps map[task.ID][]task.ID
	bytes int // of contexts
}

// What the cache of submitted steps holds at the most. The first to come are the first to be claimed,
// so when it is full it takes nothing more.
const (
	maxSubmittedSteps = 20_000
	maxSubmittedBytes = 32 << 20
)

// submittedStep is a new step.
type submittedStep struct {
	Work
	// first says that it was this process that offered it, before any other could.
	first bool
}

// submittedAge is how long after a step became ready nobody else can have offered it.
const submittedAge = sweepAge * 3 / 4

func newSubmittedCache() *submittedCache {
	return &submittedCache{works: map[task.ID]submittedStep{}, steps: map[task.ID][]task.ID{}}
}

// put shelves a copy of a new step, unless the cache of submitted steps was cleared since the epoch. Its task
// is shared with its other steps.
func (s *submittedCache) put(w Work, stint int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) >= maxSubmittedSteps || s.bytes >= maxSubmittedBytes || s.epoch.Load() != stint {
		return
	}
	step := *w.Step
	s.works[step.ID] = submittedStep{Work: Work{&step, w.Task}}
	s.steps[step.TaskID] = append(s.steps[step.TaskID], step.ID)
	s.bytes += len(w.Task.Context)
}

// offered notes that steps were offered by now. Those that others may have offered before
// are dropped: somebody may have done them already.
func (s *submittedCache) offered(steps []Offered, now task.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) == 0 {
		return
	}
	for _, o := range steps {
		w, ok := s.works[o.Step]
		switch {
		case !ok || w.first:
		case w.Step.ReadyAt.Add(submittedAge) < now:
			s.drop(w.Step.TaskID)
		default:
			w.first = true
			s.works[o.Step] = w
		}
	}
}

// take returns a step with its task if they are in the cache of submitted steps as they were offered.
func (s *submittedCache) take(as Offered, now task.Instant) (Work, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.works[as.Step]
	if !ok {
		return Work{}, false
	}
	s.drop(w.Step.TaskID)
	return w.Work, w.Step.Key == as.Key && (w.first || w.Step.ReadyAt.Add(submittedAge) >= now)
}

// forget drops tasks that something has happened to.
func (s *submittedCache) forget(tasks map[*task.Task]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) == 0 {
		return
	}
	for t := range tasks {
		s.drop(t.ID)
	}
}

// clear drops everything.
func (s *submittedCache) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch.Add(1)
	clear(s.works)
	clear(s.steps)
	s.bytes = 0
}

func (s *submittedCache) drop(id task.ID) {
	for _, step := range s.steps[id] {
		s.bytes -= len(s.works[step].Task.Context)
		delete(s.works, step)
	}
	delete(s.steps, id)
}

// leaseSubmitted makes a lease of a hold without asking the store. It reports false
// when that takes more than what is in the cache of submitted steps.
func (g *dispatchQueue) leaseSubmitted(u *unit, h Hold, start bool) (Lease, bool) {
	w, ok := g.submitted.take(h.Offered, u.now)
	if !ok || w.Step.Adopt(h.lease()) != nil {
		return Lease{}, false
	}
	t, err := u.e.TemplateOf(context.Background(), w.Step.DefID)
	if err != nil || t.Unread != "" {
		return Lease{}, false
	}
	u.observed.handed(w.Step, w.Step.WorkerNo, start)
	u.observed.holdMoved(w)
	return Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.observed.attemptTrace(w)}, true
}

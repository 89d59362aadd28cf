package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// shelf keeps what this process submitted a moment ago, so that a claim of it from
// the dispatcher asks the store for nothing. What is on it has not been touched
// since: whoever makes a step ready again gives it another key.
type shelf struct {
	// stint grows whenever it is cleared: others may have been given since what was
	// submitted before.
	stint atomic.Int64

	mu    sync.Mutex
	works map[task.ID]shelved // by step
	steps map[task.ID][]task.ID
	bytes int // of contexts
}

// What the shelf holds at the most. The first to come are the first to be claimed,
// so when it is full it takes nothing more.
const (
	maxShelved      = 20_000
	maxShelvedBytes = 32 << 20
)

// shelved is a new step.
type shelved struct {
	Work
	// first says that it was this process that offered it, before any other could.
	first bool
}

// shelfAge is how long after a step became ready nobody else can have offered it.
const shelfAge = sweepAge * 3 / 4

func newShelf() *shelf { return &shelf{works: map[task.ID]shelved{}, steps: map[task.ID][]task.ID{}} }

// put shelves a copy of a new step, unless the shelf was cleared since the stint. Its task
// is shared with its other steps.
func (s *shelf) put(w Work, stint int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) >= maxShelved || s.bytes >= maxShelvedBytes || s.stint.Load() != stint {
		return
	}
	step := *w.Step
	s.works[step.ID] = shelved{Work: Work{&step, w.Task}}
	s.steps[step.TaskID] = append(s.steps[step.TaskID], step.ID)
	s.bytes += len(w.Task.Context)
}

// offered notes that steps were offered by now. Those that others may have offered before
// are dropped: somebody may have done them already.
func (s *shelf) offered(steps []Offered, now task.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) == 0 {
		return
	}
	for _, o := range steps {
		w, ok := s.works[o.Step]
		switch {
		case !ok || w.first:
		case w.Step.ReadyAt.Add(shelfAge) < now:
			s.drop(w.Step.TaskID)
		default:
			w.first = true
			s.works[o.Step] = w
		}
	}
}

// take returns a step with its task if they are on the shelf as they were offered.
func (s *shelf) take(as Offered, now task.Instant) (Work, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.works[as.Step]
	if !ok {
		return Work{}, false
	}
	s.drop(w.Step.TaskID)
	return w.Work, w.Step.Key == as.Key && (w.first || w.Step.ReadyAt.Add(shelfAge) >= now)
}

// forget drops tasks that something has happened to.
func (s *shelf) forget(tasks map[*task.Task]struct{}) {
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
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stint.Add(1)
	clear(s.works)
	clear(s.steps)
	s.bytes = 0
}

func (s *shelf) drop(id task.ID) {
	for _, step := range s.steps[id] {
		s.bytes -= len(s.works[step].Task.Context)
		delete(s.works, step)
	}
	delete(s.steps, id)
}

// shelve puts the new steps of a committed transaction on the shelf, and takes
// down what it touched.
func (u *unit) shelve() {
	s := u.e.dispatch.shelf
	s.forget(u.dirtyTasks)
	for _, w := range u.fresh {
		if w.Task == nil {
			continue // not new: it got another key
		}
		if _, stored := u.tasks[w.Task.ID]; !stored && w.Step.State == task.StepEnqueued {
			s.put(w, u.stint)
		}
	}
}

// fromShelf makes a lease of a hold without asking the store. It reports false
// when that takes more than what is on the shelf.
func (u *unit) fromShelf(h Hold, start bool) (Lease, bool) {
	w, ok := u.e.dispatch.shelf.take(h.Offered, u.now)
	if !ok || w.Step.Adopt(h.holding()) != nil {
		return Lease{}, false
	}
	t, err := u.e.TemplateOf(context.Background(), w.Step.DefID)
	if err != nil || t.Unread != "" {
		return Lease{}, false
	}
	u.sawHanded(w.Step, w.Step.WorkerNo, start)
	u.toldHeld(w)
	return Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.attemptTrace(w)}, true
}

package kernel

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// submittedCache holds the latest submissions of this process, so that a claim from the dispatcher need not read the
// store. Cached rows are current: a step that is ready again has another key.
type submittedCache struct {
	// epoch grows with each clear: other processes may have got earlier steps.
	epoch atomic.Int64

	mu    sync.Mutex
	works map[task.ID]submittedStep
	steps map[task.ID][]task.ID
	bytes int
}

// Bounds of the cache. The first steps are claimed first, so a full cache takes no more.
const (
	maxSubmittedSteps = 20_000
	maxSubmittedBytes = 32 << 20
)

type submittedStep struct {
	Work
	// first: no other process offered the step before.
	first bool
}

// submittedAge is how long after a step became ready no other process can have offered it.
const submittedAge = sweepAge * 3 / 4

func newSubmittedCache() *submittedCache {
	return &submittedCache{works: map[task.ID]submittedStep{}, steps: map[task.ID][]task.ID{}}
}

// put does nothing if the cache was cleared since the epoch. Steps of a task share its copy.
func (s *submittedCache) put(w Work, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) >= maxSubmittedSteps || s.bytes >= maxSubmittedBytes || s.epoch.Load() != epoch {
		return
	}
	step := *w.Step
	s.works[step.ID] = submittedStep{Work: Work{&step, w.Task}}
	s.steps[step.TaskID] = append(s.steps[step.TaskID], step.ID)
	s.bytes += len(w.Task.Context)
}

// offered drops steps that other processes may have offered before: they may have run.
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

func (s *submittedCache) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch.Add(1)
	clear(s.works)
	clear(s.steps)
	s.bytes = 0
}

// The shared rows of a task's steps become outdated together. The caller holds mu.
func (s *submittedCache) drop(id task.ID) {
	for _, step := range s.steps[id] {
		s.bytes -= len(s.works[step].Task.Context)
		delete(s.works, step)
	}
	delete(s.steps, id)
}

// leaseSubmitted reports false when the cache lacks data for the lease.
func (g *dispatchQueue) leaseSubmitted(u *Unit, h Hold, start bool) (Lease, bool) {
	if u.E.Catalog.limitsOn(h.Route) != nil {
		return Lease{}, false // the store has its limits
	}
	w, ok := g.submitted.take(h.Offered, u.Now)
	if !ok || w.Task.Meta.Limited || w.Step.Adopt(h.lease()) != nil {
		return Lease{}, false
	}
	t, err := u.E.TemplateOf(context.Background(), w.Step.DefID)
	if err != nil || t.Unread != "" || u.E.TemplatePausedBy(t) != nil {
		return Lease{}, false
	}
	u.Observed.handed(w.Step, w.Step.WorkerNo, start)
	u.Observed.holdMoved(w)
	return Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.Observed.attemptTrace(w)}, true
}

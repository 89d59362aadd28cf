package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// submittedCache holds the most recent submissions of this process, so that a claim of their steps from the dispatcher
// reads nothing from the store. The cached rows are unchanged since: a step that becomes ready again gets another key.
type submittedCache struct {
	// epoch grows whenever the cache is cleared: steps submitted before that may have been given to other processes
	// since.
	epoch atomic.Int64

	mu    sync.Mutex
	works map[task.ID]submittedStep // by step
	steps map[task.ID][]task.ID
	bytes int // of contexts
}

// Bounds of the cache. The first steps submitted are the first to be claimed, so a full cache takes no more.
const (
	maxSubmittedSteps = 20_000
	maxSubmittedBytes = 32 << 20
)

// submittedStep is a new step.
type submittedStep struct {
	Work
	// first reports that this process offered the step before any other could.
	first bool
}

// submittedAge is how long after a step became ready no other process can have offered it.
const submittedAge = sweepAge * 3 / 4

// newSubmittedCache returns an empty cache.
func newSubmittedCache() *submittedCache {
	return &submittedCache{works: map[task.ID]submittedStep{}, steps: map[task.ID][]task.ID{}}
}

// put caches a copy of a new step, unless the cache was cleared since the epoch. Its task is shared with its
// other steps.
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

// offered records that steps were offered by now. Steps that other processes may have offered before are dropped: they
// may have been processed already.
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

// take returns a step with its task if the cache holds them as they were offered.
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

// forget drops tasks that have changed.
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

// drop removes all steps of a task: their shared rows are out of date together. The caller
// holds mu.
func (s *submittedCache) drop(id task.ID) {
	for _, step := range s.steps[id] {
		s.bytes -= len(s.works[step].Task.Context)
		delete(s.works, step)
	}
	delete(s.steps, id)
}

// leaseSubmitted makes a lease of a hold without reading the store. It reports false when the cache lacks data for the
// lease.
func (g *dispatchQueue) leaseSubmitted(u *unit, h Hold, start bool) (Lease, bool) {
	if u.e.catalog.limitsOn(h.Route) != nil {
		return Lease{}, false // its limits are in the store
	}
	w, ok := g.submitted.take(h.Offered, u.now)
	if !ok || w.Task.Meta.Limited || w.Step.Adopt(h.lease()) != nil {
		return Lease{}, false
	}
	t, err := u.e.TemplateOf(context.Background(), w.Step.DefID)
	if err != nil || t.Unread != "" || u.e.TemplatePausedBy(t) != nil {
		return Lease{}, false
	}
	u.observed.handed(w.Step, w.Step.WorkerNo, start)
	u.observed.holdMoved(w)
	return Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.observed.attemptTrace(w)}, true
}

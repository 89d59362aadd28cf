package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// HeldTask is a task and the leases of a worker on its steps. Leases is empty when the worker
// holds no step of the task.
type HeldTask struct {
	Task     feed.TaskStatus
	Template *task.Template // nil: there is no such task within the limits of the request's key
	Leases   []PresentedLease
}

// PresentedLease is a lease in the form that its holder presents.
type PresentedLease struct {
	Step  task.ID
	Token string
}

// HeldOf returns the state of each of the tasks, in order, and the leases of a worker on its
// steps. It takes two queries to the store and one to the dispatcher, whatever the number of
// tasks. NotFound: the worker is unknown. A task that does not exist has a nil Template.
// A task that is named twice has the same answer twice.
func (e *Engine) HeldOf(ctx context.Context, worker task.ID, ids []task.ID) ([]HeldTask, error) {
	w, err := e.ReachedWorker(ctx, worker)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := e.store.TaskStatuses(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := make(map[task.ID]*HeldTask, len(found))
	var sized []Sized
	for _, s := range found {
		if of[s.ID] != nil {
			continue // listed twice
		}
		t, err := e.TemplateOf(ctx, s.DefID)
		if err != nil {
			return nil, err
		}
		if key := access.From(ctx); key.Limited() && !key.Reaches(t.Namespace) {
			continue // as one that does not exist
		}
		of[s.ID], sized = &HeldTask{Task: s, Template: t}, append(sized, Sized{s.ID, len(t.Steps)})
	}
	steps, err := e.store.InQueues(ctx, sized)
	if err != nil {
		return nil, err
	}
	e.queue.show(ctx, steps)
	for _, s := range steps {
		if h := of[s.TaskID]; h != nil && s.State.Leased() && s.WorkerNo == w.No {
			h.Leases = append(h.Leases, PresentedLease{s.ID, e.Token(s)})
		}
	}
	out := make([]HeldTask, len(ids))
	for i, id := range ids {
		if h := of[id]; h != nil {
			out[i] = *h
		}
	}
	return out, nil
}

// Loads counts the steps that workers hold, by their numbers, in the store and in the dispatcher; workers that hold
// none are left out. When the dispatcher cannot be reached, its leases are not counted.
// Counting reads all leases, so callers that poll should not ask for it.
func (e *Engine) Loads(ctx context.Context) (map[int64]int, error) {
	e.queue.flush() // leases that have ended must not be counted
	there, err := e.queue.held(ctx)
	if err != nil {
		return nil, err
	}
	loads, err := e.queueCounts.CountHeld(ctx)
	if err != nil {
		return nil, err
	}
	for worker, n := range there {
		loads[worker] += n
	}
	return loads, nil
}

// FailuresOf returns how many attempts of a worker have failed in a row, of those that its circuit breaker counts and
// that ended in this process. When the breaker opens, the count starts again. 0 also for a worker that this process
// does not know.
func (e *Engine) FailuresOf(w *task.Worker) int {
	b := e.breakers
	if !b.on() {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.workers[w.No]; have != nil {
		return have.failures
	}
	return 0
}

package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// HeldTask is a task and a worker's leases on its steps.
type HeldTask struct {
	Task     feed.TaskStatus
	Template *task.Template // nil: no such task within the key's reach
	Leases   []PresentedLease
}

// PresentedLease is a lease as its holder presents it.
type PresentedLease struct {
	Step  task.ID
	Token string
}

// HeldOf returns the state of each task, in order, with the worker's leases on its steps. A task that does not exist
// has a nil Template. NotFound: the worker is unknown.
func (e *Kernel) HeldOf(ctx context.Context, worker task.ID, ids []task.ID) ([]HeldTask, error) {
	w, err := e.ReachedWorker(ctx, worker)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := e.Store.TaskStatuses(ctx, ids)
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
			continue
		}
		of[s.ID], sized = &HeldTask{Task: s, Template: t}, append(sized, Sized{s.ID, len(t.Steps)})
	}
	steps, err := e.Store.InQueues(ctx, sized)
	if err != nil {
		return nil, err
	}
	e.Queue.Show(ctx, steps)
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

// Loads counts the steps held in the store and, if reachable, the dispatcher, by worker, without zeros. It reads all
// leases, so callers that poll should avoid it.
func (e *Kernel) Loads(ctx context.Context) (map[int64]int, error) {
	e.Queue.flush() // ended leases must not count
	there, err := e.Queue.held(ctx)
	if err != nil {
		return nil, err
	}
	loads, err := e.QueueCounts.CountHeld(ctx)
	if err != nil {
		return nil, err
	}
	for worker, n := range there {
		loads[worker] += n
	}
	return loads, nil
}

// FailuresOf counts a worker's consecutive failures, as its circuit breaker does in this process.
func (e *Kernel) FailuresOf(w *task.Worker) int {
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

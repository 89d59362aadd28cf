package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Ready implements engine.Tx. The contexts are returned too, because a claim hands them to the
// worker.
// Steps of different routes are merged by their keys. Numbers up to 0 are no routes and are ignored.
func (t *tx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	var ready []entry
	for _, r := range slices.Compact(slices.Sorted(slices.Values(routes))) {
		if r > 0 {
			// No route can contribute more than limit steps, so reading more of one would be in vain.
			ready = append(ready, t.s.queue(r).first(limit)...)
		}
	}
	slices.SortFunc(ready, compareEntries)
	works := t.works(ids(ready[:min(max(limit, 0), len(ready))]))
	for _, w := range works {
		w.Task.Context = slices.Clone(t.s.tasks[w.Task.ID].Context)
	}
	return works, nil
}

// Between implements engine.Tx.
// It returns steps after a position, up to a key inclusively, for a rekey in pages.
func (t *tx) Between(ctx context.Context, route int64, after engine.Position, upTo int64,
	limit int,
) ([]*task.Step, error) {
	entries := t.s.queue(route).entries
	at, found := slices.BinarySearchFunc(entries, entry{after.Key, after.ID}, compareEntries)
	if found {
		at++
	}
	var steps []*task.Step
	for _, e := range entries[at:] {
		if e.key > upTo || len(steps) >= limit {
			break
		}
		steps = append(steps, cloneStep(t.s.steps[e.id]))
	}
	return steps, nil
}

// Due implements engine.Tx.
// The keys of timers and leases are times, so the due ones are at the front.
func (t *tx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	due := t.s.queue(queue).first(limit)
	if n := slices.IndexFunc(due, func(e entry) bool { return e.key > int64(until) }); n >= 0 {
		due = due[:n]
	}
	return t.works(ids(due)), nil
}

// Held implements engine.Tx.
// The earliest end of a lease comes first.
func (t *tx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	var held []task.ID
	for _, e := range t.s.queue(task.Leases).entries {
		if len(held) < limit && t.s.steps[e.id].WorkerNo == worker {
			held = append(held, e.id)
		}
	}
	return t.works(held), nil
}

// Work implements engine.Tx.
func (t *tx) Work(ctx context.Context, steps []task.ID) ([]engine.Work, error) {
	return t.works(steps), nil
}

// works clones steps and their tasks, one clone of a task for all its steps and without the context, which only Ready
// promises.
func (t *tx) works(steps []task.ID) []engine.Work {
	out := make([]engine.Work, len(steps))
	tasks := map[task.ID]*task.Task{}
	for i, id := range steps {
		step := t.s.steps[id]
		if step == nil {
			continue
		}
		of := tasks[step.TaskID]
		if of == nil {
			of = cloneTask(t.s.tasks[step.TaskID])
			of.Context = nil
			tasks[step.TaskID] = of
		}
		out[i] = engine.Work{Step: cloneStep(step), Task: of}
	}
	return out
}

// ids returns the IDs of entries, in their order.
func ids(entries []entry) []task.ID {
	out := make([]task.ID, len(entries))
	for i, e := range entries {
		out[i] = e.id
	}
	return out
}

// SaveSteps implements engine.Tx. Fields fixed at insertion keep their values, whatever the caller changed.
// It moves a step between the queues as its row says.
func (t *tx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	for _, from := range steps {
		old := t.s.steps[from.ID]
		if old == nil {
			return task.Errorf(task.Internal, "save step %s: it does not exist", from.ID)
		}
		if err := checkStepMove(old, from); err != nil {
			return err
		}
		row := *old
		row.State, row.OpenParents, row.Priority = from.State, from.OpenParents, from.Priority
		row.Queue, row.Key = from.Queue, from.Key
		row.Attempts, row.MaxAttempts, row.Timeout = from.Attempts, from.MaxAttempts, from.Timeout
		row.Token, row.WorkerNo = from.Token, from.WorkerNo
		row.ReadyAt, row.AssignedAt, row.StartedAt = from.ReadyAt, from.AssignedAt, from.StartedAt
		row.FinishedAt, row.LeaseUntil = from.FinishedAt, from.LeaseUntil
		row.Progress, row.Note, row.Result = from.Progress, from.Note, slices.Clone(from.Result)
		t.setStep(row.ID, &row)
	}
	return nil
}

// Doubt implements engine.Tx. Everything is in memory, so that nothing is in doubt.
func (t *tx) Doubt() {}

// Vacant implements engine.Tx.
// Here the answer is exact.
func (t *tx) Vacant(ctx context.Context, route int64) (bool, error) {
	return len(t.s.queue(route).first(1)) == 0, nil
}

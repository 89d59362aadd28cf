package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Ready returns contexts, too, because a claim hands them to the worker. It merges routes by key. Numbers up to 0 are
// no routes and are ignored.
func (t *tx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	var ready []entry
	for _, r := range slices.Compact(slices.Sorted(slices.Values(routes))) {
		if r > 0 {
			// No route can contribute more than limit steps.
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

// Between returns steps after a position, up to and including a key, for a rekey in pages.
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

// Due: the keys of timers and leases are times, so due ones are at the front.
func (t *tx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	due := t.s.queue(queue).first(limit)
	if n := slices.IndexFunc(due, func(e entry) bool { return e.key > int64(until) }); n >= 0 {
		due = due[:n]
	}
	return t.works(ids(due)), nil
}

// Held returns the earliest end of a lease first.
func (t *tx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	var held []task.ID
	for _, e := range t.s.queue(task.Leases).entries {
		if len(held) < limit && t.s.steps[e.id].WorkerNo == worker {
			held = append(held, e.id)
		}
	}
	return t.works(held), nil
}

func (t *tx) Work(ctx context.Context, steps []task.ID) ([]engine.Work, error) {
	return t.works(steps), nil
}

// works clones steps and their tasks, one clone per task and without the context, which only Ready promises.
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

func ids(entries []entry) []task.ID {
	out := make([]task.ID, len(entries))
	for i, e := range entries {
		out[i] = e.id
	}
	return out
}

// SaveSteps keeps fields fixed at insertion, and moves a step to the queue of its row.
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

// Doubt does nothing: everything is in memory.
func (t *tx) Doubt() {}

// Vacant is exact here.
func (t *tx) Vacant(ctx context.Context, route int64) (bool, error) {
	return len(t.s.queue(route).first(1)) == 0, nil
}

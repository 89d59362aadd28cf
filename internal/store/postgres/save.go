package postgres

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Rows are saved many at a time, and only if unchanged: with another version an update finds nothing, and tasker_expect
// ends the transaction. A value shared by many rows is a value, not a list.
const (
	guardTasks = ` WHERE t.id = u.id AND (t.xmin = u.seen OR u.seen = '0') RETURNING 1)
  SELECT tasker_expect(count(*), $1) FROM saved`
	guardSteps = ` WHERE s.id = u.id AND (s.xmin = u.seen OR u.seen = '0') RETURNING 1)
  SELECT tasker_expect(count(*), $1) FROM saved`
	saveTasks = `WITH saved AS (UPDATE tasker_tasks t SET `
	saveSteps = `WITH saved AS (UPDATE tasker_workflow_steps s SET `
)

// handed holds the common values of the steps of one claim, even of several workers, or on different attempts.
type handed struct {
	state                             task.StepState
	assignedAt, startedAt, leaseUntil task.Instant
}

// settled holds the common values of steps that are completed or failed together.
type settled struct {
	state      task.StepState
	finishedAt task.Instant
	result     bool
}

// SaveSteps implements engine.Tx. A step that the transaction has not seen is saved without a check of its version.
func (t *tx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	hand, settle := group[handed, *task.Step]{}, group[settled, *task.Step]{}
	var other []*task.Step
	for _, s := range steps {
		seen, ok := t.steps[s.ID]
		switch {
		case !ok: // saved unconditionally
			// Version 0 passes the guard whatever the row's version is.
			t.steps[s.ID] = &seenStep{}
			other = append(other, s)
		case store.WasHanded(seen.row.Step, s):
			hand.add(handed{s.State, s.AssignedAt, s.StartedAt, s.LeaseUntil}, s)
		case store.WasSettled(seen.row.Step, s):
			settle.add(settled{s.State, s.FinishedAt, s.Result != nil}, s)
		default:
			other = append(other, s)
		}
	}
	hand.each(t.saveHanded)
	settle.each(t.saveSettled)
	if len(other) > 0 {
		t.saveOthers(other)
	}
	return nil
}

// savedStep records the new version of a step, and returns the version that its row must have; 0 for a row that this
// transaction wrote.
func (t *tx) savedStep(s *task.Step) (task.ID, uint32) {
	seen := t.steps[s.ID]
	version := seen.row.version
	if seen.saved {
		version = 0
	}
	seen.row.Step, seen.saved = *s, true
	t.enqueued(s)
	return s.ID, version
}

func (t *tx) saveHanded(v handed, steps []*task.Step) {
	if one := steps[0]; !slices.ContainsFunc(steps, func(s *task.Step) bool { return !claimedAlike(one, s) }) {
		t.saveHandedAlike(v, steps)
		return
	}
	var seen seenRows
	var keys, attempts, tokens, workers []int64
	for _, s := range steps {
		seen.add(t.savedStep(s))
		keys, attempts = append(keys, s.Key), append(attempts, int64(s.Attempts))
		tokens, workers = append(tokens, s.Token), append(workers, s.WorkerNo)
	}
	t.exec(saveSteps+
		`state = $8, queue = -2, key = u.key, attempts = u.attempts, token = u.token, worker_no = u.worker,
  assigned_at = $9, started_at = $10, finished_at = 0, lease_until = $11, progress = 0, note = NULL
 FROM unnest($2::uuid[], $3::xid[], $4::bigint[], $5::int[], $6::bigint[], $7::bigint[])
  AS u(id, seen, key, attempts, token, worker)`+guardSteps,
		len(steps), seen.ids, seen.versions, keys, attempts, tokens, workers, string(v.state), int64(v.assignedAt),
		int64(v.startedAt), int64(v.leaseUntil))
}

func claimedAlike(a, b *task.Step) bool {
	return a.Key == b.Key && a.Attempts == b.Attempts && a.Token == b.Token && a.WorkerNo == b.WorkerNo
}

func (t *tx) saveHandedAlike(v handed, steps []*task.Step) {
	seen, s := t.savedSteps(steps), steps[0]
	t.exec(saveSteps+
		`state = $4, queue = -2, key = $5, attempts = $6, token = $7, worker_no = $8, assigned_at = $9, started_at = $10,
 finished_at = 0, lease_until = $11, progress = 0, note = NULL FROM unnest($2::uuid[], $3::xid[])
  AS u(id, seen)`+guardSteps,
		len(steps), seen.ids, seen.versions, string(v.state), s.Key, s.Attempts, s.Token, s.WorkerNo, int64(v.assignedAt),
		int64(v.startedAt), int64(v.leaseUntil))
}

func (t *tx) saveSettled(v settled, steps []*task.Step) {
	seen := t.savedSteps(steps)
	const set = saveSteps + `state = $4, queue = NULL, key = NULL, lease_until = 0, finished_at = $5, result = `
	if !v.result {
		t.exec(set+`NULL FROM unnest($2::uuid[], $3::xid[]) AS u(id, seen)`+guardSteps,
			len(steps), seen.ids, seen.versions, string(v.state), int64(v.finishedAt))
		return
	}
	results := make([][]byte, len(steps))
	for i, s := range steps {
		results[i] = s.Result
	}
	t.exec(set+`u.result::json FROM unnest($2::uuid[], $3::xid[], $6::text[]) AS u(id, seen, result)`+guardSteps,
		len(steps), seen.ids, seen.versions, string(v.state), int64(v.finishedAt), results)
}

func (t *tx) savedSteps(steps []*task.Step) seenRows {
	seen := seenRows{make([]task.ID, 0, len(steps)), make([]uint32, 0, len(steps))}
	for _, s := range steps {
		seen.add(t.savedStep(s))
	}
	return seen
}

func (t *tx) saveOthers(steps []*task.Step) {
	var seen seenRows
	var l stepLists
	var finished, progress []int64
	var notes, results [][]byte
	for _, s := range steps {
		seen.add(t.savedStep(s))
		l.add(s)
		l.addLease(s)
		finished, progress = append(finished, int64(s.FinishedAt)), append(progress, int64(s.Progress))
		notes, results = append(notes, text(s.Note)), append(results, s.Result)
	}
	t.exec(saveSteps+
		`state = u.state, open_parents = u.open, queue = NULLIF(u.queue, 0), key = CASE WHEN u.queue <> 0 THEN u.key END,
 attempts = u.attempts, max_attempts = u.max_attempts, timeout_ms = u.timeout, token = u.token, worker_no = u.worker,
  ready_at = u.ready, assigned_at = u.assigned, started_at = u.started, finished_at = u.finished,
  lease_until = u.lease, progress = u.progress, note = u.note,
 result = u.result::json, priority = u.priority
 FROM unnest($2::uuid[], $3::xid[], $4::text[], $5::int[], $6::bigint[], $7::bigint[], $8::int[], $9::int[],
  $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[],
  $17::bigint[], $18::smallint[], $19::text[], $20::text[], $21::smallint[])
 AS u(id, seen, state, open, queue, key, attempts, max_attempts, timeout, token, worker, ready, assigned, started,
  finished, lease, progress, note, result, priority)`+guardSteps,
		len(steps), seen.ids, seen.versions, l.states, l.open, l.queues, l.keys, l.attempts, l.maxAttempts, l.timeouts,
		l.tokens, l.workers, l.ready, l.assigned, l.started, finished, l.leases, progress, notes, results, l.priorities)
}

type outcome struct {
	state                  task.State
	counts                 task.Counts
	finishedAt, deadlineAt task.Instant
	// stateAt is set only if it has changed, so that tasks of different age are saved alike.
	moved   bool
	stateAt task.Instant
	meta    bool
}

// outcomeOf returns the columns to write of a task. was is nil for a task that the transaction has not seen; stateAt is
// then written in any case.
func outcomeOf(was *seenTask, k *task.Task) outcome {
	o := outcome{state: k.State, counts: k.Counts, finishedAt: k.FinishedAt, deadlineAt: k.DeadlineAt,
		meta: k.Meta.Changed()}
	if was == nil || was.row.StateAt != k.StateAt {
		o.moved, o.stateAt = true, k.StateAt
	}
	return o
}

// SaveTasks implements engine.Tx. One statement saves tasks with equal changes.
func (t *tx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	alike := group[outcome, *task.Task]{}
	for _, k := range tasks {
		alike.add(outcomeOf(t.tasks[k.ID], k), k)
		if t.tasks[k.ID] == nil { // saved unconditionally
			t.tasks[k.ID] = &seenTask{}
		}
	}
	for _, v := range alike.values {
		if err := t.saveOutcome(v, alike.rows[v]); err != nil {
			return err
		}
	}
	return nil
}

// SaveContext implements engine.Tx. The row belongs to this transaction since SaveTasks found it unchanged.
func (t *tx) SaveContext(ctx context.Context, k *task.Task) error {
	t.exec(`UPDATE tasker_tasks SET context = $2::text::json WHERE id = $1`, k.ID, k.Context)
	t.contexts[k.ID] = k.Context
	return nil
}

func (t *tx) saveOutcome(v outcome, tasks []*task.Task) error {
	var seen seenRows
	var metas [][]byte
	var priorities []int64
	for _, k := range tasks {
		row := t.tasks[k.ID]
		version := row.row.version
		if row.saved {
			version = 0
		}
		seen.add(k.ID, version)
		row.row.Task, row.saved = *k, true
		row.row.Context = nil
		if v.meta {
			meta, err := encodeMeta(k.Meta)
			if err != nil {
				return err
			}
			metas, priorities = append(metas, meta), append(priorities, int64(k.Priority))
		}
	}
	const set = saveTasks +
		`state = $4, steps_pending = $5, steps_active = $6, steps_waiting = $7, steps_done = $8, steps_failed = $9,
  steps_cancelled = $10, manual_ends = $11, finished_at = $12, deadline_at = $13, state_at = coalesce($14, t.state_at)`
	var stateAt any
	if v.moved {
		stateAt = int64(v.stateAt)
	}
	c := v.counts
	args := []any{len(tasks), seen.ids, seen.versions, string(v.state), c.Pending, c.Active, c.Waiting, c.Done, c.Failed,
		c.Cancelled, c.ManualEnds,
		int64(v.finishedAt), int64(v.deadlineAt), stateAt}
	if v.meta {
		t.exec(set+
			`, meta = u.meta::json, priority = u.priority FROM unnest($2::uuid[], $3::xid[], $15::text[],
  $16::smallint[]) AS u(id, seen, meta, priority)`+guardTasks,
			append(args, metas, priorities)...)
		return nil
	}
	t.exec(set+` FROM unnest($2::uuid[], $3::xid[]) AS u(id, seen)`+guardTasks, args...)
	return nil
}

type group[V comparable, R any] struct {
	values []V
	rows   map[V][]R
}

func (g *group[V, R]) add(v V, r R) {
	if g.rows == nil {
		g.rows = map[V][]R{}
	}
	if _, ok := g.rows[v]; !ok {
		g.values = append(g.values, v)
	}
	g.rows[v] = append(g.rows[v], r)
}

func (g *group[V, R]) each(save func(V, []R)) {
	for _, v := range g.values {
		save(v, g.rows[v])
	}
}

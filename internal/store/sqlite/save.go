package sqlite

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Saving rows is half of the writer's work, and most of that is the binding of parameters, once per parameter and row.
// So one statement saves up to fused rows with equal changes (a batch that one worker claimed, or settled without
// results), and writes only the changed columns.

// fused bounds the rows that one statement changes, or reads by ID. A statement always has 1 or fused parameters for
// IDs, so that few different statements stay prepared.
const fused = 64

var fusedMarks = strings.TrimSuffix(strings.Repeat("?,", fused), ",")

type handed struct {
	state                             task.StepState
	key                               int64
	attempts                          int
	token, workerNo                   int64
	assignedAt, startedAt, leaseUntil task.Instant
}

type settled struct {
	state      task.StepState
	finishedAt task.Instant
}

// SaveSteps implements engine.Tx. The cached row shows which columns have changed; an uncached step is written whole.
func (t *tx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	// The groups are written after the loop. Their order does not matter: each row is saved once.
	hand, settle := group[handed]{}, group[settled]{}
	for _, s := range steps {
		was, known := t.rows.step(s.ID)
		var err error
		switch {
		case known && store.WasHanded(was, s):
			hand.add(handed{s.State, s.Key, s.Attempts, s.Token, s.WorkerNo, s.AssignedAt, s.StartedAt, s.LeaseUntil},
				s.ID.Seq())
		case known && store.WasSettled(was, s):
			if s.Result == nil && was.Result == nil {
				settle.add(settled{s.State, s.FinishedAt}, s.ID.Seq())
			} else {
				err = t.saveResult(ctx, s)
			}
		default:
			err = t.saveStep(ctx, s)
		}
		if err != nil {
			return err
		}
		t.rows.putStep(s)
		t.queued(s)
		if known {
			t.taken(was, s)
		}
	}
	if err := hand.each(ctx, t.saveHanded); err != nil {
		return err
	}
	return settle.each(ctx, t.saveSettled)
}

func (t *tx) saveHanded(ctx context.Context, v handed, ids []int64) error {
	const one = `UPDATE tasker_workflow_steps SET state = ?, queue = -2, key = ?, attempts = ?, token = ?,
  worker_no = ?, assigned_at = ?, started_at = ?, finished_at = 0, lease_until = ?, progress = 0, note = NULL WHERE id `
	return t.saveAlike(ctx, one, ids, string(v.state), v.key, v.attempts, v.token, v.workerNo, int64(v.assignedAt),
		int64(v.startedAt), int64(v.leaseUntil))
}

func (t *tx) saveSettled(ctx context.Context, v settled, ids []int64) error {
	const one = `UPDATE tasker_workflow_steps SET state = ?, queue = NULL, key = NULL, finished_at = ?, lease_until = 0
  WHERE id `
	return t.saveAlike(ctx, one, ids, string(v.state), int64(v.finishedAt))
}

// saveResult writes a settlement with a result. Results differ, so it saves one row.
func (t *tx) saveResult(ctx context.Context, s *task.Step) error {
	const query = `UPDATE tasker_workflow_steps SET state = ?, queue = NULL, key = NULL, finished_at = ?,
  lease_until = 0, result = ? WHERE id = ?`
	_, err := t.conn.Exec(ctx, query, string(s.State), int64(s.FinishedAt), jsonText(s.Result), s.ID.Seq())
	return err
}

func (t *tx) saveAlike(ctx context.Context, statement string, ids []int64, values ...any) error {
	for len(ids) > 0 {
		where, args, n := oneOf(ids, values...)
		if _, err := t.conn.Exec(ctx, statement+where, args...); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// oneOf returns a condition for the first n of these IDs, and a statement's arguments: those before it, and the IDs.
func oneOf(ids []int64, before ...any) (where string, args []any, n int) {
	n = min(len(ids), fused)
	if n == 1 {
		return "= ?", append(before[:len(before):len(before)], ids[0]), 1 // a copy: batches share before
	}
	args = append(make([]any, 0, len(before)+fused), before...)
	for i := range fused { // a short batch repeats its last row
		args = append(args, ids[min(i, n-1)])
	}
	return "IN (" + fusedMarks + ")", args, n
}

func (t *tx) saveStep(ctx context.Context, s *task.Step) error {
	const query = `UPDATE tasker_workflow_steps SET state = ?, open_parents = ?, queue = ?, key = ?, attempts = ?,
  max_attempts = ?, timeout_ms = ?, token = ?, worker_no = ?, ready_at = ?, assigned_at = ?, started_at = ?,
  finished_at = ?, lease_until = ?, progress = ?, note = ?, result = ?, priority = ? WHERE id = ?`
	queue, key := queueOf(s)
	_, err := t.conn.Exec(ctx, query, string(s.State), s.OpenParents, queue, key, s.Attempts, s.MaxAttempts,
		s.Timeout.Milliseconds(), s.Token, s.WorkerNo, int64(s.ReadyAt), int64(s.AssignedAt), int64(s.StartedAt),
		int64(s.FinishedAt), int64(s.LeaseUntil),
		s.Progress, text(s.Note), jsonText(s.Result), s.Priority, s.ID.Seq())
	return err
}

type outcome struct {
	state                  task.State
	counts                 task.Counts
	finishedAt, deadlineAt task.Instant
	// stateAt is set only if it has changed, so that tasks of different age are saved alike.
	moved   bool
	stateAt task.Instant
}

// outcomeOf returns the columns to write of a task. If the cached row is unknown, stateAt is written in any case.
func outcomeOf(was task.Task, known bool, k *task.Task) outcome {
	o := outcome{state: k.State, counts: k.Counts, finishedAt: k.FinishedAt, deadlineAt: k.DeadlineAt}
	if !known || was.StateAt != k.StateAt {
		o.moved, o.stateAt = true, k.StateAt
	}
	return o
}

// SaveTasks implements engine.Tx. Tasks with equal changes are saved together; the meta, which rarely changes, row by
// row.
func (t *tx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	alike := group[outcome]{}
	for _, k := range tasks {
		was, known := t.rows.task(k.ID)
		alike.add(outcomeOf(was, known, k), k.ID.Seq())
		t.rows.putTask(k)
		if !k.Meta.Changed() {
			continue
		}
		meta, err := encodeMeta(k.Meta)
		if err != nil {
			return err
		}
		if _, err := t.conn.Exec(ctx, `UPDATE tasker_tasks SET meta = ?, priority = ? WHERE id = ?`, meta, k.Priority,
			k.ID.Seq()); err != nil {
			return err
		}
	}
	return alike.each(ctx, func(ctx context.Context, v outcome, ids []int64) error {
		const one = `UPDATE tasker_tasks SET state = ?, steps_pending = ?, steps_active = ?, steps_waiting = ?,
  steps_done = ?, steps_failed = ?, steps_cancelled = ?, manual_ends = ?, finished_at = ?, deadline_at = ?,
  state_at = coalesce(?, state_at) WHERE id `
		c := v.counts
		var stateAt any
		if v.moved {
			stateAt = int64(v.stateAt)
		}
		return t.saveAlike(ctx, one, ids, string(v.state), c.Pending, c.Active, c.Waiting, c.Done, c.Failed, c.Cancelled,
			c.ManualEnds,
			int64(v.finishedAt), int64(v.deadlineAt), stateAt)
	})
}

type group[V comparable] struct {
	values []V
	ids    map[V][]int64
}

func (g *group[V]) add(v V, id int64) {
	if g.ids == nil {
		g.ids = map[V][]int64{}
	}
	if _, ok := g.ids[v]; !ok {
		g.values = append(g.values, v)
	}
	g.ids[v] = append(g.ids[v], id)
}

// each calls save once for each value, in order of appearance, so that the same batch always gives the same statements.
func (g *group[V]) each(ctx context.Context, save func(context.Context, V, []int64) error) error {
	for _, v := range g.values {
		if err := save(ctx, v, g.ids[v]); err != nil {
			return err
		}
	}
	return nil
}

package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/task"
)

// InsertTasks implements engine.TxTasks.
func (t *tx) InsertTasks(tasks []*task.Task, steps []*task.Step) error {
	var plain, other taskLists
	for _, k := range tasks {
		row := taskRow{*k, 0}
		row.Context = nil
		t.tasks[k.ID] = &seenTask{row: row, saved: true}
		t.contexts[k.ID] = k.Context
		list := &other
		if k.State == task.StepsInProcess && k.StateAt == k.CreatedAt && k.Counts.Pending == 0 && k.RunAt == 0 && k.DeadlineAt == 0 &&
			k.CorrelationID == "" && k.IdempotencyKey == "" && k.Meta.Empty() {
			list = &plain
		}
		if err := list.add(k); err != nil {
			return err
		}
	}
	plain.insertPlain(t)
	other.insert(t)
	return t.insertSteps(steps)
}

// taskLists are the columns of new tasks. Their counts are all zero but those of
// pending and active steps.
type taskLists struct {
	ids, tagged                   []task.ID
	defs, created, stateAt, runAt []int64
	finished, deadline, priority  []int64
	pending, active               []int64
	states, tags                  []string
	correlation, key, meta, ctext [][]byte
}

func (l *taskLists) add(k *task.Task) error {
	l.ids = append(l.ids, k.ID)
	l.defs, l.created, l.priority = append(l.defs, k.DefID), append(l.created, int64(k.CreatedAt)), append(l.priority, int64(k.Priority))
	l.active, l.pending = append(l.active, int64(k.Counts.Active)), append(l.pending, int64(k.Counts.Pending))
	l.runAt, l.deadline = append(l.runAt, int64(k.RunAt)), append(l.deadline, int64(k.DeadlineAt))
	l.stateAt, l.finished = append(l.stateAt, int64(k.StateAt)), append(l.finished, int64(k.FinishedAt))
	l.states = append(l.states, string(k.State))
	l.correlation, l.key = append(l.correlation, text(k.CorrelationID)), append(l.key, text(k.IdempotencyKey))
	l.ctext = append(l.ctext, k.Context)
	meta, err := encodeMeta(k.Meta)
	l.meta = append(l.meta, meta)
	for _, tag := range k.Meta.Tags {
		l.tags, l.tagged = append(l.tags, tag), append(l.tagged, k.ID)
	}
	return err
}

const (
	intoTasks = `INSERT INTO tasker_tasks (id, def_id, state, priority, steps_pending, steps_active, steps_waiting, steps_done, steps_failed,
 steps_cancelled, manual_ends, created_at, state_at, run_at, finished_at, deadline_at, correlation_id, idempotency_key, meta, context) SELECT `
	insertPlain = intoTasks + `u.id, u.def, 'steps_in_process', u.priority, 0, u.active, 0, 0, 0, 0, 0, $6, $6, 0, 0, 0, NULL, NULL, NULL, u.context::json
 FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::int[], $5::text[]) AS u(id, def, priority, active, context)`
	insertAny = intoTasks + `u.id, u.def, u.state, u.priority, u.pending, u.active, 0, 0, 0, 0, 0, u.created, u.state_at, u.run_at, u.finished, u.deadline, u.correlation,
 u.key, u.meta::json, u.context::json FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::int[], $5::text[], $6::text[], $7::int[], $8::bigint[],
 $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[])
 AS u(id, def, priority, active, context, state, pending, created, run_at, deadline, correlation, key, meta, state_at, finished)`
	insertTags = `INSERT INTO tasker_task_tags (tag, task_id) SELECT * FROM unnest($1::text[], $2::uuid[]) ON CONFLICT DO NOTHING`
)

// insertPlain inserts tasks that have nothing special; all of them are created now.
func (l *taskLists) insertPlain(t *tx) {
	for from := 0; from < len(l.ids); {
		to := from + 1
		for to < len(l.ids) && l.created[to] == l.created[from] {
			to++
		}
		t.exec(insertPlain, l.ids[from:to], l.defs[from:to], l.priority[from:to], l.active[from:to], l.ctext[from:to], l.created[from])
		from = to
	}
}

func (l *taskLists) insert(t *tx) {
	if len(l.ids) == 0 {
		return
	}
	t.exec(insertAny, l.ids, l.defs, l.priority, l.active, l.ctext, l.states, l.pending, l.created, l.runAt, l.deadline, l.correlation, l.key, l.meta,
		l.stateAt, l.finished)
	if len(l.tags) > 0 {
		t.exec(insertTags, l.tags, l.tagged)
	}
}

// stepLists are the columns of new steps.
type stepLists struct {
	ids, tasks                                []task.ID
	ordinals, defs, routes, priorities        []int64
	open, queues, keys                        []int64
	attempts, maxAttempts, timeouts, tokens   []int64
	workers, ready, assigned, started, leases []int64
	states                                    []string
}

func (l *stepLists) add(s *task.Step) {
	l.ids, l.tasks = append(l.ids, s.ID), append(l.tasks, s.TaskID)
	l.ordinals, l.defs, l.routes = append(l.ordinals, int64(s.Ordinal)), append(l.defs, s.DefID), append(l.routes, s.RouteID)
	l.priorities, l.open = append(l.priorities, int64(s.Priority)), append(l.open, int64(s.OpenParents))
	l.queues, l.keys = append(l.queues, s.Queue), append(l.keys, s.Key)
	l.maxAttempts, l.timeouts = append(l.maxAttempts, int64(s.MaxAttempts)), append(l.timeouts, s.Timeout.Milliseconds())
	l.ready, l.states = append(l.ready, int64(s.ReadyAt)), append(l.states, string(s.State))
}

func (l *stepLists) addLease(s *task.Step) {
	l.attempts, l.tokens, l.workers = append(l.attempts, int64(s.Attempts)), append(l.tokens, s.Token), append(l.workers, s.WorkerNo)
	l.assigned, l.started, l.leases = append(l.assigned, int64(s.AssignedAt)), append(l.started, int64(s.StartedAt)), append(l.leases, int64(s.LeaseUntil))
}

const (
	intoSteps = `INSERT INTO tasker_workflow_steps (id, task_id, ordinal, def_id, route_id, priority, open_parents, queue, key, max_attempts, timeout_ms,
 ready_at, state, attempts, token, worker_no, assigned_at, started_at, lease_until, finished_at, progress, note, result) SELECT u.id, u.task, u.ordinal,
 u.def, u.route, u.priority, u.open, NULLIF(u.queue, 0), CASE WHEN u.queue <> 0 THEN u.key END, u.max_attempts, u.timeout, u.ready, u.state`
	stepArrays = `$1::uuid[], $2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::smallint[], $7::int[], $8::bigint[], $9::bigint[], $10::int[],
 $11::bigint[], $12::bigint[], $13::text[]`
	stepNames = `id, task, ordinal, def, route, priority, open, queue, key, max_attempts, timeout, ready, state`

	insertStep = intoSteps + `, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL FROM unnest(` + stepArrays + `) AS u(` + stepNames + `)`
	// handed off at birth
	insertLeased = intoSteps + `, u.attempts, u.token, u.worker, u.assigned, u.started, u.lease, 0, 0, NULL, NULL FROM unnest(` + stepArrays + `,
 $14::int[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[]) AS u(` + stepNames + `, attempts, token, worker, assigned, started, lease)`
)

func (t *tx) insertSteps(steps []*task.Step) error {
	var plain, leased stepLists
	for _, s := range steps {
		t.steps[s.ID] = &seenStep{row: stepRow{*s, 0}, saved: true}
		t.enqueued(s)
		if s.State.Leased() {
			leased.add(s)
			leased.addLease(s)
			continue
		}
		plain.add(s)
	}
	if l := &plain; len(l.ids) > 0 {
		t.exec(insertStep, l.ids, l.tasks, l.ordinals, l.defs, l.routes, l.priorities, l.open, l.queues, l.keys, l.maxAttempts, l.timeouts, l.ready, l.states)
	}
	if l := &leased; len(l.ids) > 0 {
		t.exec(insertLeased, l.ids, l.tasks, l.ordinals, l.defs, l.routes, l.priorities, l.open, l.queues, l.keys, l.maxAttempts, l.timeouts, l.ready, l.states,
			l.attempts, l.tokens, l.workers, l.assigned, l.started, l.leases)
	}
	return nil
}

// enqueued notes that a step was put into a queue.
func (t *tx) enqueued(s *task.Step) {
	if s.Queue > 0 {
		t.queued[s.Queue] = struct{}{}
	}
	if s.Queue != task.NoQueue {
		t.store.routes.lowered(s.Queue, s.Key)
	}
}

// text keeps "" as NULL.
func text(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func encodeMeta(m task.Meta) ([]byte, error) {
	if m.Empty() {
		return nil, nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return b, nil
}

package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// InsertTasks implements engine.Tx. Nothing is sent yet: an error of the database appears with the next query or the
// commit.
func (t *tx) InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error {
	t.remember(tasks, steps)
	if err := t.insertTasks(tasks); err != nil {
		return err
	}
	t.insertSteps(steps)
	return nil
}

// remember caches tasks with a leased step, whose result comes next. Others are read when they are claimed.
func (t *tx) remember(tasks []*task.Task, steps []*task.Step) {
	handed := map[task.ID]struct{}{}
	for _, s := range steps {
		t.enqueued(s)
		if s.State.Leased() {
			handed[s.TaskID] = struct{}{}
		}
	}
	if len(handed) == 0 {
		return
	}
	for _, k := range tasks {
		if _, ok := handed[k.ID]; ok {
			// The version is known after the commit; see committed.
			row := taskRow{*k, 0}
			row.Context = nil
			t.tasks[k.ID] = &seenTask{row: row, saved: true, inserted: true}
			t.contexts[k.ID] = k.Context
		}
	}
	for _, s := range steps {
		if _, ok := handed[s.TaskID]; ok {
			t.steps[s.ID] = &seenStep{row: stepRow{*s, 0}, saved: true}
		}
	}
}

// maxAlike bounds the groups of equal rows that are inserted group by group; more are inserted as lists of all columns.
// A statement costs more than a longer list.
const maxAlike = 4

// plainTask holds the common values of many simple new tasks. Tasks of one batch have the same time, so a batch of one
// template is one group.
type plainTask struct {
	def       int64
	priority  int
	active    int
	createdAt task.Instant
}

// insertTasks inserts usual tasks group by group, with shared values sent once, and all others as lists of columns.
func (t *tx) insertTasks(tasks []*task.Task) error {
	alike := group[plainTask, *task.Task]{}
	var other taskLists
	for _, k := range tasks {
		if k.State == task.StepsInProcess && k.StateAt == k.CreatedAt && k.Counts.Pending == 0 && k.RunAt == 0 &&
			k.DeadlineAt == 0 &&
			k.CorrelationID == "" && k.IdempotencyKey == "" && k.Meta.Empty() {
			alike.add(plainTask{k.DefID, k.Priority, k.Counts.Active, k.CreatedAt}, k)
		} else if err := other.add(k); err != nil {
			return err
		}
	}
	for _, v := range alike.values {
		rows := alike.rows[v]
		if len(alike.values) <= maxAlike {
			t.insertPlain(v, rows)
			continue
		}
		for _, k := range rows {
			if err := other.add(k); err != nil {
				return err
			}
		}
	}
	other.insert(t)
	return nil
}

func (t *tx) insertPlain(v plainTask, tasks []*task.Task) {
	ids, contexts := make([]task.ID, len(tasks)), make([][]byte, len(tasks))
	for i, k := range tasks {
		ids[i], contexts[i] = k.ID, k.Context
	}
	t.exec(insertPlain, ids, contexts, v.def, v.priority, v.active, int64(v.createdAt))
}

// taskLists are the columns of new tasks. Only pending and active steps have counts. All lists except tags and tagged
// have the same length.
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
	l.defs, l.created, l.priority = append(l.defs, k.DefID), append(l.created, int64(k.CreatedAt)),
		append(l.priority, int64(k.Priority))
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
	intoTasks = `INSERT INTO tasker_tasks (id, def_id, state, priority, steps_pending, steps_active, steps_waiting,
  steps_done, steps_failed, steps_cancelled, manual_ends, created_at, state_at, run_at, finished_at, deadline_at,
  correlation_id, idempotency_key, meta, context) SELECT `
	insertPlain = intoTasks +
		`u.id, $3, 'steps_in_process', $4, 0, $5, 0, 0, 0, 0, 0, $6, $6, 0, 0, 0, NULL, NULL, NULL, u.context::json
 FROM unnest($1::uuid[], $2::text[]) AS u(id, context)`
	insertAny = intoTasks +
		`u.id, u.def, u.state, u.priority, u.pending, u.active, 0, 0, 0, 0, 0, u.created, u.state_at, u.run_at, u.finished,
  u.deadline, u.correlation, u.key, u.meta::json, u.context::json FROM unnest($1::uuid[], $2::bigint[],
  $3::smallint[], $4::int[], $5::text[], $6::text[], $7::int[], $8::bigint[],
 $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[])
 AS u(id, def, priority, active, context, state, pending, created, run_at, deadline, correlation, key, meta,
  state_at, finished)`
	insertTags = `INSERT INTO tasker_task_tags (tag, task_id) SELECT * FROM unnest($1::text[], $2::uuid[])
  ON CONFLICT DO NOTHING`
)

func (l *taskLists) insert(t *tx) {
	if len(l.ids) == 0 {
		return
	}
	t.exec(insertAny, l.ids, l.defs, l.priority, l.active, l.ctext, l.states, l.pending, l.created, l.runAt, l.deadline,
		l.correlation, l.key, l.meta,
		l.stateAt, l.finished)
	if len(l.tags) > 0 {
		t.exec(insertTags, l.tags, l.tagged)
	}
}

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
	l.ordinals, l.defs, l.routes = append(l.ordinals, int64(s.Ordinal)), append(l.defs, s.DefID),
		append(l.routes, s.RouteID)
	l.priorities, l.open = append(l.priorities, int64(s.Priority)), append(l.open, int64(s.OpenParents))
	l.queues, l.keys = append(l.queues, s.Queue), append(l.keys, s.Key)
	l.maxAttempts, l.timeouts = append(l.maxAttempts, int64(s.MaxAttempts)), append(l.timeouts, s.Timeout.Milliseconds())
	l.ready, l.states = append(l.ready, int64(s.ReadyAt)), append(l.states, string(s.State))
}

// addLease must be called for every step or for none: the lists are read in parallel.
func (l *stepLists) addLease(s *task.Step) {
	l.attempts, l.tokens, l.workers = append(l.attempts, int64(s.Attempts)), append(l.tokens, s.Token),
		append(l.workers, s.WorkerNo)
	l.assigned, l.started, l.leases = append(l.assigned, int64(s.AssignedAt)), append(l.started, int64(s.StartedAt)),
		append(l.leases, int64(s.LeaseUntil))
}

const (
	intoSteps = `INSERT INTO tasker_workflow_steps (id, task_id, ordinal, def_id, route_id, priority, open_parents,
  queue, key, max_attempts, timeout_ms, ready_at, state, attempts, token, worker_no, assigned_at, started_at,
  lease_until, finished_at, progress, note, result) SELECT `
	insertAlike = intoSteps +
		`u.id, u.task, $3, $4, $5, $6, $7, NULLIF($8::bigint, 0), CASE WHEN $8 <> 0 THEN $9::bigint END, $10, $11, $12,
  $13, $14, $15, $16, $17, $18, $19, 0, 0, NULL, NULL FROM unnest($1::uuid[], $2::uuid[]) AS u(id, task)`
	insertStep = intoSteps +
		`u.id, u.task, u.ordinal, u.def, u.route, u.priority, u.open, NULLIF(u.queue, 0), CASE WHEN u.queue <> 0
  THEN u.key END, u.max_attempts, u.timeout, u.ready, u.state, u.attempts, u.token, u.worker, u.assigned, u.started,
  u.lease, 0, 0, NULL, NULL
 FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::smallint[], $7::int[], $8::bigint[],
  $9::bigint[], $10::int[], $11::bigint[], $12::bigint[], $13::text[], $14::int[], $15::bigint[], $16::bigint[],
  $17::bigint[], $18::bigint[], $19::bigint[])
 AS u(id, task, ordinal, def, route, priority, open, queue, key, max_attempts, timeout, ready, state, attempts,
  token, worker, assigned, started, lease)`
)

// stepShape is every column of a new step except its owner, with a lease if leased on insertion.
type stepShape struct {
	ordinal, priority, open, attempts, maxAttempts int
	def, route, queue, key, token, worker          int64
	timeout                                        time.Duration
	state                                          task.StepState
	ready, assigned, started, lease                task.Instant
}

func stepShapeOf(s *task.Step) stepShape {
	return stepShape{s.Ordinal, s.Priority, s.OpenParents, s.Attempts, s.MaxAttempts, s.DefID, s.RouteID, s.Queue, s.Key,
		s.Token, s.WorkerNo,
		s.Timeout, s.State, s.ReadyAt, s.AssignedAt, s.StartedAt, s.LeaseUntil}
}

// insertSteps inserts few groups of steps group by group, else as lists of columns.
func (t *tx) insertSteps(steps []*task.Step) {
	alike := group[stepShape, *task.Step]{}
	for _, s := range steps {
		alike.add(stepShapeOf(s), s)
	}
	if len(alike.values) <= maxAlike {
		alike.each(t.insertAlike)
		return
	}
	var l stepLists
	for _, s := range steps {
		l.add(s)
		l.addLease(s)
	}
	t.exec(insertStep, l.ids, l.tasks, l.ordinals, l.defs, l.routes, l.priorities, l.open, l.queues, l.keys, l.maxAttempts,
		l.timeouts, l.ready, l.states,
		l.attempts, l.tokens, l.workers, l.assigned, l.started, l.leases)
}

func (t *tx) insertAlike(v stepShape, steps []*task.Step) {
	ids, tasks := make([]task.ID, len(steps)), make([]task.ID, len(steps))
	for i, s := range steps {
		ids[i], tasks[i] = s.ID, s.TaskID
	}
	t.exec(insertAlike, ids, tasks, v.ordinal, v.def, v.route, v.priority, v.open, v.queue, v.key, v.maxAttempts,
		v.timeout.Milliseconds(), int64(v.ready),
		string(v.state), v.attempts, v.token, v.worker, int64(v.assigned), int64(v.started), int64(v.lease))
}

// enqueued records that a step was put into a queue. A key below the known floor of the queue lowers it now: this
// process must find the step. queued collects the routes to announce after the commit.
func (t *tx) enqueued(s *task.Step) {
	if s.Queue > 0 {
		t.queued[s.Queue] = struct{}{}
	}
	if s.Queue != task.NoQueue {
		t.store.routes.lowered(s.Queue, streamOf(s), s.Key)
	}
}

func text(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// encodeMeta returns nil for an empty meta, which takes no space.
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

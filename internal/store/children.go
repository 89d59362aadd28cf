package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

var (
	wakeFanOuts = bulkOf(`INSERT INTO tasker_fan_outs (step_id, task_id, rev, total, submitted, running, done, errored,
  given_up, phase, repeated, bytes, version, fresh) SELECT v.column1, v.column2, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, '', 1 FROM (`, "ii",
		`) AS v WHERE true ON CONFLICT (step_id) DO UPDATE SET fresh = 1, rev = tasker_fan_outs.rev + 1`)
	findFanOuts = bulkOf(`SELECT `+fanOutColumns+` FROM (`, "i", `) AS v
 JOIN tasker_fan_outs f ON f.step_id = v.column1`)
	saveFanOuts = bulkOf(`UPDATE tasker_fan_outs SET rev = v.column2, total = v.column3, submitted = v.column4,
  running = v.column5, done = v.column6, errored = v.column7, given_up = v.column8, phase = v.column9,
  repeated = v.column10, bytes = v.column11, version = v.column12, fresh = v.column13 FROM (`, "innnnnnnnnntn", `) AS v
 WHERE step_id = v.column1`)
	insertItems = bulkOf(`INSERT INTO tasker_child_items (step_id, part, items)`, "int",
		` ON CONFLICT (step_id, part) DO NOTHING`)
	saveChildren = bulkOf(`INSERT INTO tasker_children (step_id, idx, task_id, state, counted, fresh, result, note)
 SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7, v.column8 FROM (`, "inittntt",
		`) AS v WHERE true ON CONFLICT (step_id, idx) DO UPDATE SET task_id = excluded.task_id,
  state = excluded.state, counted = excluded.counted, fresh = excluded.fresh, note = excluded.note,
  result = CASE WHEN excluded.result IS NULL THEN tasker_children.result ELSE excluded.result END`)
	markChildren = bulkOf(`UPDATE tasker_children SET state = v.column2, result = v.column3, fresh = 1
 FROM (`, "itt", `) AS v
 WHERE task_id = v.column1`)
)

const (
	fanOutColumns = `f.step_id, f.task_id, f.rev, f.total, f.submitted, f.running, f.done, f.errored, f.given_up, f.phase,
 f.repeated, f.bytes, f.version, f.fresh`
	childColumns = `c.step_id, c.idx, c.task_id, c.state, c.counted, c.fresh, c.note,
 coalesce(length(c.result), 0), `
)

// ChildStore implements engine.Database.
func (s SQL) ChildStore() engine.ChildStore { return s }

// WakeFanOuts implements engine.ChildRows.
func (SQL) WakeFanOuts(ctx context.Context, tx engine.Tx, steps []*task.Step) error {
	s := In(tx)
	rows := make([][]any, len(steps))
	for i, st := range steps {
		rows[i] = []any{s.id(st.ID), s.id(st.TaskID)}
	}
	return wakeFanOuts.send(ctx, s, rows)
}

// FanOutsIn implements engine.ChildRows.
func (SQL) FanOutsIn(ctx context.Context, tx engine.Tx, steps []task.ID) ([]*task.FanOut, error) {
	s := In(tx)
	lock := ""
	if s.Lock != "" {
		lock = " ORDER BY f.step_id" + s.Lock + " OF f"
	}
	return s.fanOuts(ctx, steps, lock)
}

// FanOuts implements engine.ChildReads.
func (s SQL) FanOuts(ctx context.Context, steps []task.ID) ([]*task.FanOut, error) {
	return s.fanOuts(ctx, steps, "")
}

func (s SQL) fanOuts(ctx context.Context, steps []task.ID, behind string) (out []*task.FanOut, err error) {
	err = findFanOuts.run(s.Dialect, s.idRows(steps), func(query string, args []any) error {
		some, err := collect(ctx, s, s.scanFanOut, query+behind, args...)
		out = append(out, some...)
		return err
	})
	return out, err
}

// DueFanOuts implements engine.ChildReads.
func (s SQL) DueFanOuts(ctx context.Context, limit int) ([]*task.FanOut, error) {
	return collect(ctx, s, s.scanFanOut, `SELECT `+fanOutColumns+` FROM tasker_fan_outs f WHERE f.step_id IN
  (SELECT d.step_id FROM tasker_fan_outs d WHERE d.fresh = 1
   UNION SELECT c.step_id FROM tasker_children c WHERE c.fresh = 1) LIMIT $1`, limit)
}

func (s SQL) scanFanOut(row Row) (*task.FanOut, error) {
	var f task.FanOut
	var fresh int
	err := row.Scan(s.ScanID(&f.Step), s.ScanID(&f.Task), &f.Rev, &f.Total, &f.Submitted, &f.Running, &f.Done, &f.Errored,
		&f.GivenUp, (*int)(&f.Phase), &f.Repeated, &f.Bytes, (*Text)(&f.Version), &fresh)
	f.Fresh = fresh != 0
	return &f, err
}

// SaveFanOuts implements engine.ChildRows.
func (SQL) SaveFanOuts(ctx context.Context, tx engine.Tx, of []*task.FanOut) error {
	s := In(tx)
	rows := make([][]any, len(of))
	for i, f := range of {
		rows[i] = []any{s.id(f.Step), int64(f.Rev), int64(f.Total), int64(f.Submitted), int64(f.Running), int64(f.Done),
			int64(f.Errored), int64(f.GivenUp), int64(f.Phase), int64(f.Repeated), int64(f.Bytes), f.Version, flag(f.Fresh)}
	}
	return saveFanOuts.send(ctx, s, rows)
}

// AddItems implements engine.ChildRows.
func (SQL) AddItems(ctx context.Context, tx engine.Tx, step task.ID, windows [][]byte) error {
	s := In(tx)
	rows := make([][]any, len(windows))
	for i, w := range windows {
		rows[i] = []any{s.id(step), int64(i), string(w)}
	}
	return insertItems.send(ctx, s, rows)
}

// ItemWindow implements engine.ChildReads.
func (s SQL) ItemWindow(ctx context.Context, step task.ID, window int) ([]byte, error) {
	return first(ctx, s, func(row Row) (text []byte, err error) {
		err = row.Scan((*JSON)(&text))
		return text, err
	}, `SELECT items FROM tasker_child_items WHERE step_id = $1 AND part = $2`, s.id(step), window)
}

// SaveChildren implements engine.ChildRows. All transactions save in one order.
func (SQL) SaveChildren(ctx context.Context, tx engine.Tx, children []engine.Child) error {
	s := In(tx)
	rows := make([][]any, len(children))
	for i, c := range children {
		var id any
		if !c.Task.IsZero() {
			id = s.id(c.Task)
		}
		rows[i] = []any{s.id(c.Step), int64(c.Index), id, string(c.State), string(c.Counted), flag(c.Fresh),
			nullText(c.Result), c.Note}
	}
	return saveChildren.send(ctx, s, rows)
}

func nullText(document []byte) any {
	if document == nil {
		return nil
	}
	return string(document)
}

// MarkChildren implements engine.ChildRows.
func (SQL) MarkChildren(ctx context.Context, tx engine.Tx, marks []engine.ChildMark) error {
	s := In(tx)
	rows := make([][]any, len(marks))
	for i, m := range marks {
		rows[i] = []any{s.id(m.Task), string(m.State), nullText(m.Result)}
	}
	return markChildren.send(ctx, s, rows)
}

// LockFresh implements engine.ChildRows.
func (SQL) LockFresh(ctx context.Context, tx engine.Tx, step task.ID, limit int) ([]engine.Child, error) {
	s := In(tx)
	lock := ""
	if s.Lock != "" {
		lock = s.Lock + " SKIP LOCKED"
	}
	return s.freshChildren(ctx, step, limit, lock)
}

// FreshChildren implements engine.ChildReads.
func (s SQL) FreshChildren(ctx context.Context, step task.ID, limit int) ([]engine.Child, error) {
	return s.freshChildren(ctx, step, limit, "")
}

func (s SQL) freshChildren(ctx context.Context, step task.ID, limit int, lock string) ([]engine.Child, error) {
	return collect(ctx, s, s.scanChild, `SELECT `+childColumns+`NULL FROM tasker_children c WHERE c.step_id = $1
 AND c.fresh = 1 ORDER BY c.idx LIMIT $2`+lock, s.id(step), limit)
}

// ListChildren implements engine.ChildReads. An empty name of a state matches nothing, so that one statement serves any
// number of states.
func (s SQL) ListChildren(ctx context.Context, step task.ID, f engine.ChildFilter) ([]engine.Child, error) {
	result := "NULL"
	if f.Results {
		result = "c.result"
	}
	states := make([]string, 4)
	for i, st := range f.States {
		if i < len(states) {
			states[i] = string(st)
		}
	}
	all := flag(len(f.States) == 0)
	return collect(ctx, s, s.scanChild, `SELECT `+childColumns+result+` FROM tasker_children c WHERE c.step_id = $1
 AND c.idx >= $2 AND ($3 = 1 OR c.state IN ($4, $5, $6, $7)) ORDER BY c.idx LIMIT $8`, s.id(step), f.From, all,
		states[0], states[1], states[2], states[3], f.Limit)
}

func (s SQL) scanChild(row Row) (engine.Child, error) {
	var c engine.Child
	var fresh int
	var result JSON
	err := row.Scan(s.ScanID(&c.Step), &c.Index, s.ScanID(&c.Task), (*Text)(&c.State), (*Text)(&c.Counted), &fresh,
		(*Text)(&c.Note), &c.Size, &result)
	c.Fresh, c.Result = fresh != 0, slices.Clone(result)
	return c, err
}

// NoParentLives is the condition that a task t is no child of a live task. Retention leaves such a child to its parent,
// whose step may still be reset.
const NoParentLives = `NOT EXISTS (SELECT 1 FROM tasker_children c JOIN tasker_fan_outs f ON f.step_id = c.step_id
 JOIN tasker_tasks p ON p.id = f.task_id
 WHERE c.task_id = t.id AND p.state NOT IN ('complete', 'cancelled', 'resolved_manually'))`

// DeleteFamilies delete, in this order, all rows about children of a task's steps. The children themselves are separate
// tasks.
var DeleteFamilies = []string{
	`DELETE FROM tasker_children WHERE step_id IN (SELECT f.step_id FROM tasker_fan_outs f WHERE f.task_id = $1)`,
	`DELETE FROM tasker_child_items WHERE step_id IN (SELECT f.step_id FROM tasker_fan_outs f WHERE f.task_id = $1)`,
	`DELETE FROM tasker_fan_outs WHERE task_id = $1`,
}

package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const waitColumns = `step_id, task_id, namespace, template, step_name, kind, name, key, at, until_at, fresh`

var (
	insertStepWaits = bulkOf(`INSERT INTO tasker_step_waits (`+waitColumns+`)`, "iittttttnnn", ` ON CONFLICT (step_id)
 DO UPDATE SET kind = excluded.kind, name = excluded.name, key = excluded.key, at = excluded.at,
  until_at = excluded.until_at, fresh = excluded.fresh`)
	deleteStepWaits = bulkOf(`DELETE FROM tasker_step_waits WHERE step_id IN (SELECT v.column1 FROM (`, "i", `) AS v)`)
	findStepWaits   = bulkOf(`SELECT w.step_id, w.task_id, w.namespace, w.template, w.step_name, w.kind, w.name, w.key, w.at,
  w.until_at, w.fresh FROM (`, "i", `) AS v JOIN tasker_step_waits w ON w.step_id = v.column1`)
	markStepWaits = bulkOf(`UPDATE tasker_step_waits SET fresh = 0 FROM (`, "in", `) AS v
 WHERE step_id = v.column1 AND at = v.column2 AND fresh = 1`)
)

// WaitStore implements engine.Database.
func (s SQL) WaitStore() engine.WaitStore { return s }

// ChangeWaits implements engine.WaitStore.
func (SQL) ChangeWaits(ctx context.Context, tx engine.Tx, put []task.StepWait, drop []task.ID) error {
	s := In(tx)
	rows := make([][]any, len(put))
	for i, w := range put {
		rows[i] = []any{s.id(w.Step), s.id(w.Task), w.Namespace, w.Template, w.StepName, string(w.Kind), w.Name, w.Key,
			int64(w.At), int64(w.Until), flag(w.Fresh)}
	}
	if err := deleteStepWaits.send(ctx, s, s.idRows(drop)); err != nil {
		return err
	}
	return insertStepWaits.send(ctx, s, rows)
}

// WaitsOf implements engine.WaitStore.
func (SQL) WaitsOf(ctx context.Context, tx engine.Tx, steps []task.ID) ([]task.StepWait, error) {
	return In(tx).FindWaits(ctx, steps)
}

// FindWaits implements engine.WaitReads.
func (s SQL) FindWaits(ctx context.Context, steps []task.ID) (list []task.StepWait, err error) {
	err = findStepWaits.run(s.Dialect, s.idRows(steps), func(query string, args []any) error {
		found, err := collect(ctx, s, s.scanWait, query, args...)
		list = append(list, found...)
		return err
	})
	return list, err
}

func (s SQL) scanWait(row Row) (w task.StepWait, err error) {
	var fresh int64
	err = row.Scan(s.ScanID(&w.Step), s.ScanID(&w.Task), (*Text)(&w.Namespace), (*Text)(&w.Template), (*Text)(&w.StepName),
		(*Text)((*string)(&w.Kind)), (*Text)(&w.Name), (*Text)(&w.Key), (*int64)(&w.At), (*int64)(&w.Until), &fresh)
	w.Fresh = fresh != 0
	return w, err
}

func (s SQL) scanMatch(row Row) (m engine.SignalMatch, err error) {
	err = row.Scan(s.ScanID(&m.Step), (*int64)(&m.At), (*Text)(&m.Signal.Namespace), (*Text)(&m.Signal.ID))
	return m, err
}

// waitMatch selects a wait with the first signal for it, or NULL: one that had not expired when the wait began, and
// arrived before its end.
const waitMatch = `SELECT w.step_id, w.at, w.namespace,
 (SELECT s.signal_id FROM tasker_signals s WHERE s.namespace = w.namespace AND s.name = w.name AND s.key = w.key
  AND s.expires_at > w.at AND (w.until_at = 0 OR s.received_at < w.until_at)
  ORDER BY s.received_at, s.signal_id LIMIT 1) AS signal_id
 FROM tasker_step_waits w`

// FreshWaits implements engine.WaitStore.
func (SQL) FreshWaits(ctx context.Context, tx engine.Tx, limit int) ([]engine.SignalMatch, error) {
	s := In(tx)
	return collect(ctx, s, s.scanMatch, waitMatch+` WHERE w.fresh = 1 ORDER BY w.at, w.step_id LIMIT $1`, limit)
}

// Awaited implements engine.WaitStore, one signal after the other.
func (SQL) Awaited(ctx context.Context, tx engine.Tx, signals []task.Signal, limit int) (list []engine.SignalMatch,
	err error,
) {
	s := In(tx)
	for i := range signals {
		sig := &signals[i]
		found, err := collect(ctx, s, s.scanMatch, `SELECT step_id, at, namespace, signal_id FROM (`+waitMatch+`
 WHERE w.namespace = $1 AND w.name = $2 AND w.key = $3 AND w.kind = 'signal') AS m WHERE signal_id IS NOT NULL
 ORDER BY step_id LIMIT $4`, sig.Namespace, sig.Name, sig.Key, limit-len(list))
		if list = append(list, found...); err != nil || len(list) >= limit {
			return list, err
		}
	}
	return list, nil
}

// SignalFor implements engine.WaitStore.
func (SQL) SignalFor(ctx context.Context, tx engine.Tx, step task.ID) (engine.SignalMatch, error) {
	s := In(tx)
	return first(ctx, s, s.scanMatch, waitMatch+` WHERE w.step_id = $1 AND w.kind = 'signal'`, s.id(step))
}

// MarkWaitsKnown implements engine.WaitStore.
func (SQL) MarkWaitsKnown(ctx context.Context, tx engine.Tx, waits []engine.SignalMatch) error {
	s := In(tx)
	rows := make([][]any, len(waits))
	for i, w := range waits {
		rows[i] = []any{s.id(w.Step), int64(w.At)}
	}
	return markStepWaits.send(ctx, s, rows)
}

// ListWaits implements engine.WaitReads.
func (s SQL) ListWaits(ctx context.Context, f engine.WaitFilter) ([]task.StepWait, error) {
	var w where
	w.add("kind = ?", string(f.Kind))
	if len(f.Namespaces) > 0 {
		var marks []string
		for _, n := range f.Namespaces {
			marks = append(marks, w.arg(n))
		}
		w.add("namespace IN (" + strings.Join(marks, ", ") + ")")
	}
	w.addIf(f.Template != "", "template = ?", f.Template)
	w.addIf(f.StepName != "", "step_name = ?", f.StepName)
	w.addIf(!f.Task.IsZero(), "task_id = ?", s.id(f.Task))
	w.addIf(f.Since != 0, "at >= ?", int64(f.Since))
	w.addIf(f.Until != 0, "at < ?", int64(f.Until))
	w.addIf(f.After.At != 0, "(at, step_id) > (?, ?)", int64(f.After.At), s.id(f.After.Step))
	return collect(ctx, s, s.scanWait, `SELECT `+waitColumns+` FROM tasker_step_waits`+w.text()+
		` ORDER BY at, step_id LIMIT `+w.arg(f.Limit), w.args...)
}

// CountWaits implements engine.WaitReads.
func (s SQL) CountWaits(ctx context.Context, limit int) (map[task.WaitKind]int, error) {
	counts := map[task.WaitKind]int{}
	for _, kind := range task.WaitKinds {
		n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_step_waits WHERE kind = $1
 LIMIT $2) AS q`, string(kind), limit)
		if err != nil {
			return nil, err
		}
		counts[kind] = int(n)
	}
	return counts, nil
}

// AnyFresh implements engine.WaitReads.
func (s SQL) AnyFresh(ctx context.Context) (bool, error) {
	n, err := first(ctx, s, scanInt, `SELECT CASE WHEN EXISTS (SELECT 1 FROM tasker_step_waits WHERE fresh = 1)
 OR EXISTS (SELECT 1 FROM tasker_signals WHERE fresh = 1) THEN 1 ELSE 0 END`)
	return n == 1, err
}

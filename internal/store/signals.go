package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const signalColumns = `namespace, signal_id, name, key, received_at, expires_at, taken, fresh, bytes`

var (
	findSignals = bulkOf(`SELECT s.namespace, s.signal_id, s.name, s.key, s.received_at, s.expires_at, s.taken, s.fresh,
  s.bytes, s.payload FROM (`, "tt", `) AS v JOIN tasker_signals s ON s.namespace = v.column1 AND s.signal_id = v.column2`)
	markSignals = bulkOf(`UPDATE tasker_signals SET taken = taken + v.column3,
 fresh = CASE WHEN v.column4 = 1 THEN 0 ELSE fresh END FROM (`, "ttnn", `) AS v
 WHERE namespace = v.column1 AND signal_id = v.column2`)
)

// SignalStore implements engine.Database.
func (s SQL) SignalStore() engine.SignalStore { return s }

// AddSignal implements engine.SignalStore.
func (SQL) AddSignal(ctx context.Context, tx engine.Tx, sig *task.Signal) (*task.Signal, error) {
	s := In(tx)
	var payload any
	if sig.Payload != nil {
		payload = string(sig.Payload)
	}
	const add = `INSERT INTO tasker_signals AS s (` + signalColumns + `, payload)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (namespace, signal_id) DO UPDATE SET name = excluded.name,
 key = excluded.key, received_at = excluded.received_at, expires_at = excluded.expires_at, taken = excluded.taken,
 fresh = excluded.fresh, bytes = excluded.bytes, payload = excluded.payload WHERE s.expires_at <= excluded.received_at`
	for {
		n, err := s.Exec(ctx, add, sig.Namespace, sig.ID, sig.Name, sig.Key, int64(sig.ReceivedAt), int64(sig.ExpiresAt),
			sig.Taken, flag(sig.Fresh), int64(len(sig.Payload)), payload)
		if err != nil || n == 1 {
			return nil, err
		}
		if have, err := s.FindSignal(ctx, sig.SignalName); err != nil || have != nil { // nil: deleted meanwhile
			return have, err
		}
	}
}

// FreshSignals implements engine.SignalStore.
func (SQL) FreshSignals(ctx context.Context, tx engine.Tx, limit int) ([]task.Signal, error) {
	return collect(ctx, In(tx), scanBareSignal, `SELECT `+signalColumns+` FROM tasker_signals WHERE fresh = 1
 ORDER BY received_at, signal_id LIMIT $1`, limit)
}

// SignalsNamed implements engine.SignalStore.
func (SQL) SignalsNamed(ctx context.Context, tx engine.Tx, names []task.SignalName) (list []task.Signal, err error) {
	s := In(tx)
	err = findSignals.run(s.Dialect, signalRows(names), func(query string, args []any) error {
		found, err := collect(ctx, s, scanSignal, query, args...)
		list = append(list, found...)
		return err
	})
	return list, err
}

// MarkSignals implements engine.SignalStore.
func (SQL) MarkSignals(ctx context.Context, tx engine.Tx, marks []engine.SignalMark) error {
	s := In(tx)
	rows := make([][]any, len(marks))
	for i, m := range marks {
		rows[i] = []any{m.Namespace, m.ID, m.Taken, flag(m.Known)}
	}
	return markSignals.send(ctx, s, rows)
}

// DropSignals implements engine.SignalStore.
func (SQL) DropSignals(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_signals WHERE (namespace, signal_id) IN
 (SELECT s.namespace, s.signal_id FROM tasker_signals s WHERE s.expires_at < $1 AND s.fresh = 0 AND NOT EXISTS
  (SELECT 1 FROM tasker_step_waits w WHERE w.fresh = 1 AND w.namespace = s.namespace AND w.name = s.name
   AND w.key = s.key AND s.expires_at > w.at AND (w.until_at = 0 OR s.received_at < w.until_at)) ORDER BY s.expires_at LIMIT $2)`,
		int64(before), limit)
	return int(n), err
}

// FindSignal implements engine.SignalStore.
func (s SQL) FindSignal(ctx context.Context, name task.SignalName) (*task.Signal, error) {
	found, err := collect(ctx, s, scanBareSignal, `SELECT `+signalColumns+` FROM tasker_signals
 WHERE namespace = $1 AND signal_id = $2`, name.Namespace, name.ID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// CountSignals implements engine.SignalStore.
func (s SQL) CountSignals(ctx context.Context, namespace string, at task.Instant, limit int) (int, error) {
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_signals WHERE namespace = $1
 AND expires_at > $2 LIMIT $3) AS q`, namespace, int64(at), limit)
	return int(n), err
}

// ListSignals implements engine.SignalStore.
func (s SQL) ListSignals(ctx context.Context, f engine.SignalFilter) ([]task.Signal, error) {
	var w where
	w.addIf(f.Kept != 0, "expires_at > ?", int64(f.Kept))
	if len(f.Namespaces) > 0 {
		var marks []string
		for _, n := range f.Namespaces {
			marks = append(marks, w.arg(n))
		}
		w.add("namespace IN (" + strings.Join(marks, ", ") + ")")
	}
	w.addIf(f.Name != "", "name = ?", f.Name)
	w.addIf(f.Key != "", "key = ?", f.Key)
	w.addIf(f.Since != 0, "received_at >= ?", int64(f.Since))
	w.addIf(f.Until != 0, "received_at < ?", int64(f.Until))
	if f.Untaken {
		w.add("taken = 0")
	}
	w.addIf(f.After.ExpiresAt != 0, "(expires_at, namespace, signal_id) > (?, ?, ?)", int64(f.After.ExpiresAt),
		f.After.Namespace, f.After.ID)
	return collect(ctx, s, scanBareSignal, `SELECT `+signalColumns+` FROM tasker_signals`+w.text()+
		` ORDER BY expires_at, namespace, signal_id LIMIT `+w.arg(f.Limit), w.args...)
}

func scanBareSignal(row Row) (task.Signal, error) { return scanSignalWith(row) }

func scanSignal(row Row) (task.Signal, error) {
	var payload JSON
	sig, err := scanSignalWith(row, &payload)
	sig.Payload = payload
	return sig, err
}

func scanSignalWith(row Row, more ...any) (sig task.Signal, err error) {
	var fresh, size int64
	err = row.Scan(append([]any{(*Text)(&sig.Namespace), (*Text)(&sig.ID), (*Text)(&sig.Name), (*Text)(&sig.Key),
		(*int64)(&sig.ReceivedAt), (*int64)(&sig.ExpiresAt), &sig.Taken, &fresh, &size}, more...)...)
	sig.Fresh, sig.Bytes = fresh != 0, int(size)
	return sig, err
}

func signalRows(names []task.SignalName) [][]any {
	rows := make([][]any, len(names))
	for i, n := range names {
		rows[i] = []any{n.Namespace, n.ID}
	}
	return rows
}

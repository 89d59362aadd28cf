package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

var (
	// A task's place is behind all waiting ones, whatever the clock says; the third column keeps the order within a
	// call.
	insertWaits = bulkOf(`INSERT INTO tasker_ordering_waits (task_id, namespace, key, place, fresh)
 SELECT v.column1, v.column2, v.column3, v.column4 + CASE WHEN v.last IS NULL OR v.last < v.column5 THEN v.column5
  ELSE v.last + 1 END, 1 FROM (SELECT u.*, (SELECT max(o.place) FROM tasker_ordering_waits o
   WHERE o.namespace = u.column2 AND o.key = u.column3) AS last FROM (`, "ittnn", `) AS u) AS v`)
	findHeads = bulkOf(`SELECT h.namespace, h.key FROM (`, "tt", `) AS v JOIN tasker_ordering_heads h
 ON h.namespace = v.column1 AND h.key = v.column2`)
	// Fresh tasks come behind known ones: a fresh transaction may have begun earlier, and was committed later.
	findFirstWaits = bulkOf(`SELECT w.namespace, w.key, w.task_id FROM (`, "tt", `) AS v
 JOIN tasker_ordering_waits w ON w.task_id = coalesce((SELECT o.task_id FROM tasker_ordering_waits o
  WHERE o.namespace = v.column1 AND o.key = v.column2 AND o.fresh = 0 ORDER BY o.place, o.task_id LIMIT 1),
  (SELECT o.task_id FROM tasker_ordering_waits o
  WHERE o.namespace = v.column1 AND o.key = v.column2 ORDER BY o.place, o.task_id LIMIT 1))`)
	insertHeads = bulkOf(`INSERT INTO tasker_ordering_heads (namespace, key, task_id)`, "tti",
		` ON CONFLICT DO NOTHING RETURNING namespace, key`)
	deleteHeads = bulkOf(`DELETE FROM tasker_ordering_heads WHERE task_id IN (SELECT v.column1 FROM (`, "i",
		`) AS v) RETURNING namespace, key`)
	deleteWaits = bulkOf(`DELETE FROM tasker_ordering_waits WHERE task_id IN (SELECT v.column1 FROM (`, "i", `) AS v)`)
	// So its place becomes one behind the known ones.
	markWaits = bulkOf(`UPDATE tasker_ordering_waits SET fresh = 0,
 place = CASE WHEN f.last IS NULL OR f.last + f.nth <= f.at THEN f.at ELSE f.last + f.nth END
 FROM (SELECT w.task_id AS id, w.place AS at, (SELECT o.place FROM tasker_ordering_waits o
   WHERE o.namespace = w.namespace AND o.key = w.key AND o.fresh = 0 ORDER BY o.place DESC LIMIT 1) AS last,
  row_number() OVER (PARTITION BY w.namespace, w.key ORDER BY w.place, w.task_id) AS nth FROM (`, "i", `) AS v
  JOIN tasker_ordering_waits w ON w.task_id = v.column1 AND w.fresh = 1) AS f
 WHERE tasker_ordering_waits.task_id = f.id AND tasker_ordering_waits.fresh = 1`)
)

// OrderingStore implements engine.Database.
func (s SQL) OrderingStore() engine.OrderingStore { return s }

// AddWaiting implements engine.OrderingStore.
func (SQL) AddWaiting(ctx context.Context, tx engine.Tx, tasks []engine.Waiting, now task.Instant) error {
	s := In(tx)
	rows := make([][]any, len(tasks))
	for i, w := range tasks {
		rows[i] = []any{s.id(w.Task), w.Key.Namespace, w.Key.Key, int64(i), int64(now)}
	}
	return insertWaits.send(ctx, s, rows)
}

// FreshWaiting implements engine.OrderingStore.
func (s SQL) FreshWaiting(ctx context.Context, limit int) ([]engine.Waiting, error) {
	return collect(ctx, s, s.scanWaiting, `SELECT namespace, key, task_id FROM tasker_ordering_waits WHERE fresh = 1
 ORDER BY place LIMIT $1`, limit)
}

func (s SQL) scanWaiting(row Row) (w engine.Waiting, err error) {
	err = row.Scan((*Text)(&w.Key.Namespace), (*Text)(&w.Key.Key), s.ScanID(&w.Task))
	return w, err
}

// LockHeads implements engine.OrderingStore. It skips heads locked by others: a caller's own transaction may hold one
// for long.
func (SQL) LockHeads(ctx context.Context, tx engine.Tx, keys []engine.OrderingKey,
) (locked, vacant []engine.OrderingKey, err error) {
	s := In(tx)
	rows := keyRows(keys)
	known, err := findHeads.keys(ctx, s, rows, "")
	if err != nil {
		return nil, nil, err
	}
	heads := make(map[engine.OrderingKey]bool, len(known))
	for _, k := range known {
		heads[k] = true
	}
	vacant = slices.DeleteFunc(slices.Clone(keys), func(k engine.OrderingKey) bool { return heads[k] })
	if s.Lock == "" || len(known) == 0 {
		return known, vacant, nil
	}
	locked, err = findHeads.keys(ctx, s, keyRows(known), s.Lock+" OF h SKIP LOCKED")
	return locked, vacant, err
}

// FirstWaiting implements engine.OrderingStore.
func (SQL) FirstWaiting(ctx context.Context, tx engine.Tx, keys []engine.OrderingKey) ([]engine.Waiting, error) {
	s := In(tx)
	var out []engine.Waiting
	err := findFirstWaits.run(s.Dialect, keyRows(keys), func(query string, args []any) error {
		some, err := collect(ctx, s, s.scanWaiting, query, args...)
		out = append(out, some...)
		return err
	})
	return out, err
}

// AddHeads implements engine.OrderingStore.
func (SQL) AddHeads(ctx context.Context, tx engine.Tx, heads []engine.Waiting) ([]engine.OrderingKey, error) {
	s := In(tx)
	rows := make([][]any, len(heads))
	for i, h := range heads {
		rows[i] = []any{h.Key.Namespace, h.Key.Key, s.id(h.Task)}
	}
	return insertHeads.keys(ctx, s, rows, "")
}

// RemoveHeads implements engine.OrderingStore.
func (SQL) RemoveHeads(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]engine.OrderingKey, error) {
	s := In(tx)
	return deleteHeads.keys(ctx, s, s.idRows(tasks), "")
}

// RemoveWaiting implements engine.OrderingStore.
func (SQL) RemoveWaiting(ctx context.Context, tx engine.Tx, tasks []task.ID) error {
	s := In(tx)
	return deleteWaits.send(ctx, s, s.idRows(tasks))
}

// MarkKnown implements engine.OrderingStore.
func (SQL) MarkKnown(ctx context.Context, tx engine.Tx, tasks []task.ID) error {
	s := In(tx)
	return markWaits.send(ctx, s, s.idRows(tasks))
}

// TurnOf implements engine.OrderingStore.
func (s SQL) TurnOf(ctx context.Context, w engine.Waiting) (engine.OrderPlace, error) {
	var t engine.OrderPlace
	head, err := first(ctx, s, s.scanID, `SELECT task_id FROM tasker_ordering_heads WHERE namespace = $1 AND key = $2`,
		w.Key.Namespace, w.Key.Key)
	if err != nil {
		return t, err
	}
	places, err := collect(ctx, s, scanInt, `SELECT place FROM tasker_ordering_waits WHERE task_id = $1`, s.id(w.Task))
	if t.Head, t.Waits = head, len(places) > 0; err != nil || !t.Waits {
		return t, err
	}
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_ordering_waits WHERE namespace = $1
 AND key = $2 AND (place < $3 OR place = $3 AND task_id < $4) LIMIT $5) AS q`,
		w.Key.Namespace, w.Key.Key, places[0], s.id(w.Task), engine.TurnsCounted)
	t.Before = int(n)
	return t, err
}

// CountWaiting implements engine.OrderingStore.
func (s SQL) CountWaiting(ctx context.Context, limit int) (int, error) {
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_ordering_waits LIMIT $1) AS q`,
		limit)
	return int(n), err
}

func (b bulk) keys(ctx context.Context, s SQL, rows [][]any, behind string) ([]engine.OrderingKey, error) {
	var out []engine.OrderingKey
	err := b.run(s.Dialect, rows, func(query string, args []any) error {
		some, err := collect(ctx, s, func(row Row) (k engine.OrderingKey, err error) {
			err = row.Scan((*Text)(&k.Namespace), (*Text)(&k.Key))
			return k, err
		}, query+behind, args...)
		out = append(out, some...)
		return err
	})
	return out, err
}

func keyRows(keys []engine.OrderingKey) [][]any {
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.Namespace, k.Key}
	}
	return rows
}

func (s SQL) idRows(ids []task.ID) [][]any {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{s.id(id)}
	}
	return rows
}

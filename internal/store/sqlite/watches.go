package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
)

// Watch implements engine.WatchStore.
func (*Store) Watch(ctx context.Context, within engine.Tx, watches []engine.Watch) error {
	t := in(within)
	const query = `INSERT INTO tasker_task_watches (task_id, stale_at) VALUES (?, ?) ON CONFLICT (task_id)
  DO UPDATE SET stale_at = excluded.stale_at`
	for _, w := range watches {
		if _, err := t.conn.Exec(ctx, query, w.Task.Seq(), int64(w.At)); err != nil {
			return err
		}
	}
	return nil
}

// Rewatch implements engine.WatchStore. The condition on the old time skips a watch that changed since it was read.
func (*Store) Rewatch(ctx context.Context, within engine.Tx, moves []engine.WatchMove) error {
	t := in(within)
	const (
		move = `UPDATE tasker_task_watches SET stale_at = ? WHERE task_id = ? AND stale_at = ?`
		drop = `DELETE FROM tasker_task_watches WHERE task_id = ? AND stale_at = ?`
	)
	for _, m := range moves {
		query, args := move, []any{int64(m.Next), m.Task.Seq(), int64(m.At)}
		if m.Next == 0 {
			query, args = drop, args[1:]
		}
		if _, err := t.conn.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// KeepSettings implements engine.SettingsKeeper on the writer: the pool of readers cannot write.
func (s *Store) KeepSettings(ctx context.Context, settings map[string]int64) error {
	return s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return store.In(tx).KeepSettings(ctx, settings) })
}

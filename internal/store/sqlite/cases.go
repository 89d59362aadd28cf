package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// What follows is portable SQL on the writer's connection.

func (t *tx) AddCases(ctx context.Context, c []*task.Case) error  { return t.sql.AddCases(ctx, c) }
func (t *tx) SaveCases(ctx context.Context, c []*task.Case) error { return t.sql.SaveCases(ctx, c) }

func (t *tx) RecurCases(ctx context.Context, c []*task.Case) error { return t.sql.RecurCases(ctx, c) }

func (t *tx) Case(ctx context.Context, id task.ID) (*task.Case, error) { return t.sql.Case(ctx, id) }

func (t *tx) PendingCases(ctx context.Context, tasks []task.ID) ([]*task.Case, error) {
	return t.sql.PendingCases(ctx, tasks)
}

func (t *tx) CasesOf(ctx context.Context, tasks []task.ID) ([]*task.Case, error) {
	return t.sql.CasesOf(ctx, tasks)
}

func (t *tx) DeleteCases(ctx context.Context, ids []task.ID) error {
	return t.sql.DeleteCases(ctx, ids)
}

func (t *tx) Evidence(ctx context.Context, tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	return t.sql.Evidence(ctx, tasks)
}

func (t *tx) Note(ctx context.Context, key, text string) error { return t.sql.Note(ctx, key, text) }

func (t *tx) DropNotes(ctx context.Context, keys []string) error {
	return t.sql.DropNotes(ctx, keys)
}

// FirstNote implements engine.TxWatches.
func (t *tx) FirstNote(ctx context.Context, key, text string) error {
	return t.sql.FirstNote(ctx, key, text)
}

// Watch implements engine.TxWatches.
func (t *tx) Watch(ctx context.Context, watches []engine.Watch) error {
	const query = `INSERT INTO tasker_task_watches (task_id, stale_at) VALUES (?, ?) ON CONFLICT (task_id) DO UPDATE SET stale_at = excluded.stale_at`
	for _, w := range watches {
		if _, err := t.conn.Exec(ctx, query, w.Task.Seq(), int64(w.At)); err != nil {
			return err
		}
	}
	return nil
}

// Rewatch implements engine.TxWatches.
func (t *tx) Rewatch(ctx context.Context, moves []engine.WatchMove) error {
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

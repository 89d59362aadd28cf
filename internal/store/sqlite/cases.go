package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// What follows is portable SQL on the writer's connection.

func (t *tx) AddCases(c []*task.Case) error  { return t.sql.AddCases(context.Background(), c) }
func (t *tx) SaveCases(c []*task.Case) error { return t.sql.SaveCases(context.Background(), c) }

func (t *tx) RecurCases(c []*task.Case) error { return t.sql.RecurCases(context.Background(), c) }

func (t *tx) Case(id task.ID) (*task.Case, error) { return t.sql.Case(context.Background(), id) }

func (t *tx) PendingCases(tasks []task.ID) ([]*task.Case, error) {
	return t.sql.PendingCases(context.Background(), tasks)
}

func (t *tx) CasesOf(tasks []task.ID) ([]*task.Case, error) {
	return t.sql.CasesOf(context.Background(), tasks)
}

func (t *tx) DeleteCases(ids []task.ID) error { return t.sql.DeleteCases(context.Background(), ids) }

func (t *tx) Evidence(tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	return t.sql.Evidence(context.Background(), tasks)
}

func (t *tx) Note(key, text string) error { return t.sql.Note(context.Background(), key, text) }

func (t *tx) DropNotes(keys []string) error {
	return t.sql.DropNotes(context.Background(), keys)
}

// FirstNote implements engine.TxWatches.
func (t *tx) FirstNote(key, text string) error {
	return t.sql.FirstNote(context.Background(), key, text)
}

// Watch implements engine.TxWatches.
func (t *tx) Watch(watches []engine.Watch) error {
	const query = `INSERT INTO tasker_task_watches (task_id, stale_at) VALUES (?, ?) ON CONFLICT (task_id) DO UPDATE SET stale_at = excluded.stale_at`
	for _, w := range watches {
		if _, err := t.conn.Exec(context.Background(), query, w.Task.Seq(), int64(w.At)); err != nil {
			return err
		}
	}
	return nil
}

// Rewatch implements engine.TxWatches.
func (t *tx) Rewatch(moves []engine.WatchMove) error {
	const (
		move = `UPDATE tasker_task_watches SET stale_at = ? WHERE task_id = ? AND stale_at = ?`
		drop = `DELETE FROM tasker_task_watches WHERE task_id = ? AND stale_at = ?`
	)
	for _, m := range moves {
		query, args := move, []any{int64(m.Next), m.Task.Seq(), int64(m.At)}
		if m.Next == 0 {
			query, args = drop, args[1:]
		}
		if _, err := t.conn.Exec(context.Background(), query, args...); err != nil {
			return err
		}
	}
	return nil
}

package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TaskStatuses returns the statuses of tasks, in any order, without unknown tasks. A status has no context and no
// counts. It takes one query per part of the list.
func (s SQL) TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error) {
	const query = `SELECT id, def_id, state, state_at, priority, correlation_id, meta FROM tasker_tasks WHERE id IN `
	asked := make(map[task.ID]struct{}, len(ids))
	for _, id := range ids {
		asked[id] = struct{}{}
	}
	found, err := collectByIDs(ctx, s, ids, func(row Row) (t feed.TaskStatus, err error) {
		var meta JSON
		var m task.Meta
		var damage string // a partly unreadable task still has a status
		dest := []any{s.ScanID(&t.ID), &t.DefID, (*Text)(&t.State), &t.StateAt, &t.Priority, (*Text)(&t.CorrelationID), &meta}
		if err = scan(row, dest, &t.ID, &damage); err == nil {
			_ = meta.into(&m)
		}
		t.Tags = m.Tags
		return t, err
	}, query, ``)
	// an engine may keep only a part of an ID
	return slices.DeleteFunc(found, func(t feed.TaskStatus) bool { _, ok := asked[t.ID]; return !ok }), err
}

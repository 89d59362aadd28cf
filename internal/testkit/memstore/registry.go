package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// InsertTemplate implements engine.Tx. If the version exists, it returns the stored template
// and changes nothing.
// nil means that it was stored. It sets row.DefID only then.
func (t *tx) InsertTemplate(ctx context.Context, row *task.Template) (*task.Template, error) {
	for _, old := range t.s.templates {
		if old.Namespace == row.Namespace && old.Name == row.Name && old.Version == row.Version && old.Adhoc == row.Adhoc {
			return cloneTemplate(old), nil
		}
	}
	row.DefID = lastKey(t.s.templates) + 1
	put(t, templatesTable, row.DefID, cloneTemplate(row))
	return nil, nil
}

// Template implements engine.Tx.
func (t *tx) Template(ctx context.Context, def int64) (*task.Template, error) {
	return cloneTemplate(t.s.templates[def]), nil
}

// ExpectKnown implements engine.Tx: there is no other writer.
func (t *tx) ExpectKnown(context.Context, map[int64]*task.Template, map[int64]*task.Route) error {
	return nil
}

// InsertRoute implements engine.Tx. An existing route with the same fields gives its ID to row.
// Capabilities are sorted when a route is made, so equal routes have equal lists.
func (t *tx) InsertRoute(ctx context.Context, row *task.Route) error {
	for _, old := range t.s.routes {
		if old.Namespace == row.Namespace && old.Handler == row.Handler && slices.Equal(old.Capabilities, row.Capabilities) {
			row.ID = old.ID
			return nil
		}
	}
	row.ID = lastKey(t.s.routes) + 1
	put(t, routesTable, row.ID, cloneRoute(row))
	return nil
}

// SaveWorker implements engine.Tx.
// No = 0 inserts a worker and sets its number.
func (t *tx) SaveWorker(ctx context.Context, row *task.Worker) error {
	if row.No == 0 {
		// never the number of a forgotten worker: attempts still refer to it
		row.No = t.s.lastWorker["no"] + 1
		put(t, lastWorkerTable, "no", row.No)
	} else if t.s.workers[row.No] == nil {
		return task.Errorf(task.Internal, "save worker %d: it does not exist", row.No)
	}
	put(t, workersTable, row.No, cloneWorker(row))
	return nil
}

// Workers implements engine.Tx.
// Unknown numbers are left out.
func (t *tx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	var list []*task.Worker
	for _, no := range nos {
		if w := t.s.workers[no]; w != nil {
			list = append(list, cloneWorker(w))
		}
	}
	return list, nil
}

// ForgetWorkers implements engine.Tx.
// It begins with the lowest numbers, the workers that registered first.
func (t *tx) ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error) {
	n := 0
	for _, no := range sortedKeys(t.s.workers) {
		if w := t.s.workers[no]; n < limit && w.State == task.WorkerDead && w.LastHeartbeat < before {
			drop(t, workersTable, no)
			n++
		}
	}
	return n, nil
}

// lastKey returns the largest key of a table, 0 for an empty one.
func lastKey[V any](table map[int64]V) int64 {
	var last int64
	for k := range table {
		last = max(last, k)
	}
	return last
}

// sortedKeys returns the keys in ascending order: iteration over a map would make tests differ
// from run to run.
func sortedKeys[V any](table map[int64]V) []int64 {
	keys := make([]int64, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

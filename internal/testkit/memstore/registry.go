package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// InsertTemplate returns an existing version unchanged; nil means that row was stored and has its DefID.
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

func (t *tx) Template(ctx context.Context, def int64) (*task.Template, error) {
	return cloneTemplate(t.s.templates[def]), nil
}

func (t *tx) ExpectKnown(context.Context, map[int64]*task.Template, map[int64]*task.Route) error {
	return nil
}

// InsertRoute gives row the ID of an existing route with the same fields. Capabilities are sorted, so equal routes have
// equal lists.
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

// SaveWorker inserts a worker with No = 0, and sets its number.
func (t *tx) SaveWorker(ctx context.Context, row *task.Worker) error {
	if row.No == 0 {
		// Never the number of a forgotten worker: attempts still refer to it.
		row.No = t.s.lastWorker["no"] + 1
		put(t, lastWorkerTable, "no", row.No)
	} else if t.s.workers[row.No] == nil {
		return task.Errorf(task.Internal, "save worker %d: it does not exist", row.No)
	}
	put(t, workersTable, row.No, cloneWorker(row))
	return nil
}

func (t *tx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	var list []*task.Worker
	for _, no := range nos {
		if w := t.s.workers[no]; w != nil {
			list = append(list, cloneWorker(w))
		}
	}
	return list, nil
}

// ForgetWorkers begins with the lowest numbers.
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

func lastKey[V any](table map[int64]V) int64 {
	var last int64
	for k := range table {
		last = max(last, k)
	}
	return last
}

// sortedKeys makes iteration deterministic.
func sortedKeys[V any](table map[int64]V) []int64 {
	keys := make([]int64, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

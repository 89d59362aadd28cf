package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

const workQuery = `SELECT ` + store.StepColumns + `, ` + store.TaskColumns + `
 FROM tasker_workflow_steps s JOIN tasker_tasks t ON t.id = s.task_id `

// Ready implements engine.Tx. It reads only routes that may have ready steps, and one route without a merge.
func (t *tx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	live := make([]int64, 0, len(routes))
	for _, r := range routes {
		if _, ok := t.nonEmpty[r]; ok {
			live = append(live, r)
		}
	}
	slices.Sort(live)
	live = slices.Compact(live)
	switch len(live) {
	case 0:
		return nil, nil
	case 1:
		return t.readyOn(ctx, live[0], limit)
	default:
		return t.readyAcross(ctx, live, limit)
	}
}

// readyOn returns the first ready steps of a route. It reads only the index if the cache probably has the rows, and
// records when the route is empty, now or once the caller takes the steps. If a claim does not take all, the count in
// leaving stays above 0 and the route is read again.
func (t *tx) readyOn(ctx context.Context, route int64, limit int) ([]engine.Work, error) {
	heads, err := t.heads(ctx, route, 1)
	if err != nil {
		return nil, err
	}
	var works []engine.Work
	if len(heads) > 0 && t.inHand(heads[0].id) {
		// submitted recently: most of what follows is cached too
		if heads, err = t.heads(ctx, route, limit); err == nil {
			works, err = t.worksOf(ctx, heads)
		}
	} else {
		const query = workQuery + `WHERE s.queue = ? ORDER BY s.key, s.id`
		works, err = t.works(ctx, query, limit, route)
	}
	switch {
	case err != nil || len(works) >= limit:
	case len(works) == 0:
		t.empty(route)
	default:
		t.leaving[route] = len(works) // empty if the caller takes them
	}
	return works, err
}

type head struct{ key, id int64 }

// heads returns the first entries of a route. It stops reading instead of using LIMIT: SQLite prepares a statement
// again when the value bound to its LIMIT changes.
func (t *tx) heads(ctx context.Context, route int64, limit int) ([]head, error) {
	const query = `SELECT key, id FROM tasker_workflow_steps WHERE queue = ? ORDER BY key, id`
	var heads []head
	err := t.conn.Query(ctx, query, []any{route}, func(row store.Row) error {
		var h head
		if err := row.Scan(&h.key, &h.id); err != nil {
			return err
		}
		if heads = append(heads, h); len(heads) == limit {
			return errEnough
		}
		return nil
	})
	return heads, err
}

// readyAcross merges the first entries of several routes, then reads the lowest rows. Whole rows of every route would
// mostly be in vain.
func (t *tx) readyAcross(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	var heads []head
	for _, r := range routes {
		of, err := t.heads(ctx, r, limit)
		if err != nil {
			return nil, err
		}
		if len(of) == 0 {
			t.empty(r)
		}
		heads = append(heads, of...)
	}
	slices.SortFunc(heads, func(a, b head) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	return t.worksOf(ctx, heads[:min(len(heads), limit)])
}

func (t *tx) inHand(id int64) bool {
	s, ok := t.rows.steps[id]
	if ok {
		_, ok = t.rows.contexts[s.TaskID.Seq()]
	}
	return ok
}

func (t *tx) worksOf(ctx context.Context, heads []head) ([]engine.Work, error) {
	works := make([]engine.Work, 0, len(heads))
	for _, h := range heads {
		s, ok := t.rows.steps[h.id]
		k, known := t.rows.tasks[s.TaskID.Seq()]
		document, kept := t.rows.contexts[s.TaskID.Seq()]
		if ok && known && kept {
			k.Context = document
			works = append(works, engine.Work{Step: &s, Task: &k})
			continue
		}
		w, err := t.works(ctx, workQuery+`WHERE s.id = ?`, 1, h.id)
		if err != nil {
			return nil, err
		}
		works = append(works, w...)
	}
	return store.ShareTasks(works), nil
}

// Due implements engine.Tx. Of several equal keys the lower ID comes first, as in every store.
func (t *tx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	return t.works(ctx, workQuery+`WHERE s.queue = ? AND s.key <= ? ORDER BY s.key, s.id`, limit, queue, int64(until))
}

// Between implements engine.Tx. It caches each step, because the caller saves it next.
func (t *tx) Between(ctx context.Context, route int64, after engine.Position, upTo int64,
	limit int,
) ([]*task.Step, error) {
	const query = `SELECT ` + store.StepColumns + ` FROM tasker_workflow_steps s
 WHERE s.queue = ? AND (s.key, s.id) > (?, ?) AND s.key <= ? ORDER BY s.key, s.id`
	var steps []*task.Step
	err := t.conn.Query(ctx, query, []any{route, after.Key, after.ID.Seq(), upTo}, func(row store.Row) error {
		s, err := t.sql.ScanStep(row)
		if err != nil {
			return err
		}
		t.rows.putStep(s)
		if steps = append(steps, s); len(steps) == limit {
			return errEnough
		}
		return nil
	})
	return steps, err
}

func (t *tx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	return t.works(ctx, workQuery+`WHERE s.queue = ? AND s.worker_no = ? ORDER BY s.key, s.id`, limit, task.Leases, worker)
}

// works reads up to limit steps with their tasks, and caches both. It ends the query early instead of using LIMIT; see
// heads.
func (t *tx) works(ctx context.Context, query string, limit int, args ...any) ([]engine.Work, error) {
	var works []engine.Work
	err := t.conn.Query(ctx, query, args, func(row store.Row) error {
		s, k, err := t.sql.ScanWork(row)
		if err != nil {
			return err
		}
		t.rows.putStep(s)
		t.rows.putTask(k)
		if works = append(works, engine.Work{Step: s, Task: k}); len(works) == limit {
			return errEnough
		}
		return nil
	})
	return store.ShareTasks(works), err
}

// Work implements engine.Tx. An unknown step has a zero Work.
func (t *tx) Work(ctx context.Context, ids []task.ID) ([]engine.Work, error) {
	works := make([]engine.Work, len(ids))
	for i, id := range ids {
		if s, ok := t.rows.step(id); ok {
			if k, ok := t.rows.task(s.TaskID); ok {
				works[i] = engine.Work{Step: &s, Task: &k}
				continue
			}
		}
		got, err := t.works(ctx, workQuery+`WHERE s.id = ?`, 1, id.Seq())
		if err != nil {
			return nil, err
		}
		if len(got) > 0 && got[0].Step.ID == id {
			works[i] = got[0]
		}
	}
	return store.ShareTasks(works), nil
}

func queueOf(s *task.Step) (queue, key any) {
	if s.Queue == task.NoQueue {
		return nil, nil
	}
	return s.Queue, s.Key
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func jsonText(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// Doubt implements engine.Tx. There is no other writer, so nothing is in doubt.
func (t *tx) Doubt() {}

// Vacant implements engine.Tx. There is no other writer, so the answer is exact for an empty route; a route that may
// have steps counts as occupied.
func (t *tx) Vacant(ctx context.Context, route int64) (bool, error) {
	_, may := t.nonEmpty[route]
	return !may, nil
}

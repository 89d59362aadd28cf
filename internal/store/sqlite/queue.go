package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

const workQuery = `SELECT ` + store.StepColumns + `, ` + store.TaskColumns + `
 FROM tasker_workflow_steps s JOIN tasker_tasks t ON t.id = s.task_id `

// Ready implements engine.TxWork.
func (t *tx) Ready(routes []int64, limit int) ([]engine.Work, error) {
	live := make([]int64, 0, len(routes))
	for _, r := range routes {
		if _, ok := t.nonEmpty[r]; ok {
			live = append(live, r)
		}
	}
	switch len(live) {
	case 0:
		return nil, nil
	case 1:
		return t.readyOn(live[0], limit)
	default:
		return t.readyAcross(live, limit)
	}
}

func (t *tx) readyOn(route int64, limit int) ([]engine.Work, error) {
	const query = workQuery + `WHERE s.queue = $1 ORDER BY s.key, s.id LIMIT $2`
	works, err := t.works(query, route, limit)
	if err == nil && len(works) < limit {
		t.empty(route) // all of it is in hand now
	}
	return works, err
}

// head is one entry of the queue index.
type head struct{ key, id int64 }

// readyAcross merges the heads of several routes, then reads the lowest.
func (t *tx) readyAcross(routes []int64, limit int) ([]engine.Work, error) {
	const query = `SELECT key, id FROM tasker_workflow_steps WHERE queue = $1 ORDER BY key, id LIMIT $2`
	var heads []head
	for _, r := range routes {
		before := len(heads)
		err := t.conn.Query(context.Background(), query, []any{r, limit}, func(row store.Row) error {
			var h head
			err := row.Scan(&h.key, &h.id)
			heads = append(heads, h)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(heads) == before {
			t.empty(r)
		}
	}
	slices.SortFunc(heads, func(a, b head) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	heads = heads[:min(len(heads), limit)]
	works := make([]engine.Work, 0, len(heads))
	for _, h := range heads {
		w, err := t.works(workQuery+`WHERE s.id = $1`, h.id)
		if err != nil {
			return nil, err
		}
		works = append(works, w...)
	}
	return works, nil
}

// Due implements engine.TxWork.
func (t *tx) Due(queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	return t.works(workQuery+`WHERE s.queue = $1 AND s.key <= $2 ORDER BY s.key, s.id LIMIT $3`, queue, int64(until), limit)
}

// Held implements engine.TxWork.
func (t *tx) Held(worker int64, limit int) ([]engine.Work, error) {
	return t.works(workQuery+`WHERE s.queue = $1 AND s.worker_no = $2 ORDER BY s.key, s.id LIMIT $3`, task.Leases, worker, limit)
}

// works reads steps with their tasks. Rows that are remembered are the ones
// returned, so that two steps of one task share it.
func (t *tx) works(query string, args ...any) ([]engine.Work, error) {
	var works []engine.Work
	err := t.conn.Query(context.Background(), query, args, func(row store.Row) error {
		s, k, err := t.sql.ScanWork(row)
		if err != nil {
			return err
		}
		if have, ok := t.leased[s.ID.Seq()]; ok {
			s = have
		}
		works = append(works, engine.Work{Step: s, Task: t.sharedTask(k)})
		return nil
	})
	return works, err
}

// sharedTask returns the one Task that stands for a row in this transaction.
func (t *tx) sharedTask(k *task.Task) *task.Task {
	seq := k.ID.Seq()
	have, ok := t.loaded[seq]
	if !ok {
		have, ok = t.open[seq]
	}
	if !ok {
		have = k
	}
	have.Context = k.Context
	t.loaded[seq] = have
	return have
}

// Work implements engine.TxWork.
func (t *tx) Work(ids []task.ID) ([]engine.Work, error) {
	works := make([]engine.Work, len(ids))
	for i, id := range ids {
		if s, ok := t.leased[id.Seq()]; ok && s.ID == id {
			if k, ok := t.open[s.TaskID.Seq()]; ok {
				works[i] = engine.Work{Step: s, Task: k}
				continue
			}
		}
		got, err := t.works(workQuery+`WHERE s.id = $1`, id.Seq())
		if err != nil {
			return nil, err
		}
		if len(got) > 0 && got[0].Step.ID == id {
			works[i] = got[0]
		}
	}
	return works, nil
}

// SaveSteps implements engine.TxWork.
func (t *tx) SaveSteps(steps []*task.Step) error {
	for _, s := range steps {
		if err := t.saveStep(s); err != nil {
			return err
		}
		t.remember(s)
		t.queued(s)
	}
	return nil
}

func (t *tx) saveStep(s *task.Step) error {
	const query = `UPDATE tasker_workflow_steps SET state = $2, open_parents = $3, queue = $4, key = $5, attempts = $6, max_attempts = $7,
 timeout_ms = $8, token = $9, worker_no = $10, ready_at = $11, assigned_at = $12, started_at = $13, finished_at = $14, lease_until = $15,
 progress = $16, note = $17, result = $18, priority = $19 WHERE id = $1`
	queue, key := queueOf(s)
	_, err := t.conn.Exec(context.Background(), query, s.ID.Seq(), string(s.State), s.OpenParents, queue, key, s.Attempts, s.MaxAttempts,
		s.Timeout.Milliseconds(), s.Token, s.WorkerNo, int64(s.ReadyAt), int64(s.AssignedAt), int64(s.StartedAt), int64(s.FinishedAt), int64(s.LeaseUntil),
		s.Progress, text(s.Note), jsonText(s.Result), s.Priority)
	return err
}

// queueOf is what the queue index holds of a step: nothing, when it is in none.
func queueOf(s *task.Step) (queue, key any) {
	if s.Queue == task.NoQueue {
		return nil, nil
	}
	return s.Queue, s.Key
}

// text keeps "" as NULL, which takes no room.
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

package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// spans is the number of tasks whose steps one statement reads: a union that is prepared. Planning a longer one would
// take longer than running it.
const spans = 64

// InQueues returns the steps of tasks in a queue: ready, waiting for a time, and leased ones.
func (s SQL) InQueues(ctx context.Context, of []engine.Sized) ([]*task.Step, error) {
	return s.stepsOf(ctx, of, StepColumns, ` AND s.queue IS NOT NULL`)
}

// BareSteps returns all steps of tasks without their results, for lists.
func (s SQL) BareSteps(ctx context.Context, of []engine.Sized) ([]*task.Step, error) {
	return s.stepsOf(ctx, of, bareStep, "")
}

// Results returns the results of steps in order, up to the first that exceeds the bytes; see engine.Reader. It skips
// deleted steps.
func (s SQL) Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error) {
	type row struct {
		id     task.ID
		result JSON
	}
	out, size := map[task.ID][]byte{}, 0
	for part := range slices.Chunk(steps, heavy) {
		rows, err := collectByIDs(ctx, s, part, func(r Row) (v row, err error) {
			err = r.Scan(s.ScanID(&v.id), &v.result)
			return v, err
		}, `SELECT id, result FROM tasker_workflow_steps WHERE id IN `, ``)
		if err != nil {
			return nil, err
		}
		found := map[task.ID][]byte{}
		for _, v := range rows {
			found[v.id] = v.result
		}
		for _, id := range part {
			result, there := found[id]
			if size += len(result); size > bytes {
				return out, nil
			}
			if there {
				out[id] = result
			}
		}
	}
	return out, nil
}

// stepsOf returns steps of tasks that meet a condition. The steps of a task are a range of keys after its own, bounded
// by its number of steps; each range is a separate statement in a union, so that no planner mistakes many ranges for
// the whole table.
func (s SQL) stepsOf(ctx context.Context, of []engine.Sized, columns, condition string) ([]*task.Step, error) {
	var all []*task.Step
	for part := range slices.Chunk(of, spans) {
		w := where{}
		var query strings.Builder
		for n := 0; n < len(part) || n&(n-1) != 0; n++ { // up to a power of two, as in idList
			if n > 0 {
				query.WriteString(` UNION ALL `)
			}
			t := part[min(n, len(part)-1)]
			first, last := t.Task, task.MakeID(t.Task.Seq()+int64(t.Steps), 1<<62-1)
			if n >= len(part) {
				first = last
			}
			at := w.arg(s.id(first))
			query.WriteString(`SELECT ` + columns + ` FROM tasker_workflow_steps s
 WHERE s.id > ` + at + ` AND s.id <= ` + w.arg(s.id(last)) + ` AND s.task_id = ` + at + condition)
		}
		rows, err := collect(ctx, s, s.ScanStep, query.String(), w.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// CountHeld counts the steps of workers that hold any. Queue -2 is task.Leases: the index of the queues answers without
// reading rows of other steps.
func (s SQL) CountHeld(ctx context.Context) (map[int64]int, error) {
	const query = `SELECT worker_no, count(*) FROM tasker_workflow_steps WHERE queue = -2 GROUP BY worker_no`
	counts := map[int64]int{}
	err := s.Query(ctx, query, nil, func(row Row) error {
		var worker int64
		var n int
		err := row.Scan(&worker, &n)
		counts[worker] = n
		return err
	})
	return counts, err
}

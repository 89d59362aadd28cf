package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// maxServed bounds a worker's lists in bytes: all workers may be in memory.
	maxServed = 64 << 10
	// forgottenAtOnce is the number of dead workers removed to make room.
	forgottenAtOnce = 100
	workersAtOnce   = 64
)

func servedBytes(w *task.Worker) int {
	n := 0
	for _, list := range [][]string{w.Namespaces, w.Handlers, w.Capabilities} {
		for _, s := range list {
			n += len(s)
		}
	}
	return n
}

// admitWorker removes dead workers before it refuses one. A worker known by name and host is admitted up to twice the
// limit, because its registration before a restart still counts.
func (e *Kernel) admitWorker(ctx context.Context, w *task.Worker) error {
	limit := e.Cfg.Limits.Workers
	n, err := e.Store.CountWorkers(ctx, 2*limit)
	if err != nil || n < limit {
		return err
	}
	forgotten := 0
	err = e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		forgotten, err = tx.ForgetWorkers(ctx, e.Now(), forgottenAtOnce)
		return err
	})
	if err != nil || forgotten > 0 {
		return err
	}
	if n < 2*limit {
		known, err := e.Store.KnowsWorker(ctx, w.Name, w.Host)
		if err != nil || known {
			return err
		}
	}
	return &task.Error{Code: task.Exhausted,
		Message:    fmt.Sprintf("%d workers are registered; there may be no more than %d", n, limit),
		Hint:       "wait until dead ones are forgotten, or raise engine.limits.workers",
		RetryAfter: e.Cfg.Leases.HeartbeatInterval}
}

// ListWorkers returns a page of the workers seen within a time, and all that are not dead, after a number; and the
// number to continue after, 0 at the end. It ends early above a number of bytes.
func (e *Kernel) ListWorkers(ctx context.Context, within time.Duration, behind int64,
	limit int,
) ([]*task.Worker, int64, error) {
	if err := check.Page(limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, 0, err
	}
	var page []*task.Worker
	size, since := 0, e.Now().Add(-within)
	for len(page) < limit {
		asked := min(limit-len(page), workersAtOnce)
		part, err := e.Store.ListWorkers(ctx, since, behind, asked)
		if err != nil {
			return nil, 0, err
		}
		for _, w := range part {
			if size += servedBytes(w); size > e.Cfg.Limits.PageBytes && len(page) > 0 {
				return page, behind, nil
			}
			page, behind = append(page, w), w.No
		}
		if len(part) < asked {
			return page, 0, nil
		}
	}
	return page, behind, nil
}

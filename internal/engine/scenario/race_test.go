package scenario_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// serve registers a worker and passes what it claims to do, until ctx ends or do returns false.
func serve(ctx context.Context, t *testing.T, e *engine.Engine, capacity int, do func([]engine.Lease) bool) {
	w, err := e.Register(ctx, task.Worker{Name: "w", Capacity: capacity})
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	for ctx.Err() == nil {
		leases, _, err := e.Poll(ctx, w.ID, capacity, 20*time.Millisecond, true)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		if !do(leases) {
			return
		}
	}
}

// untilEnded runs the upkeep of the nodes until so many tasks have ended, or ctx has. mu guards ended.
func untilEnded(ctx context.Context, t *testing.T, nodes []*engine.Engine, mu *sync.Mutex, ended *int, want int,
	upkeep func(*engine.Engine) error,
) {
	t.Helper()
	for done := false; !done && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		for _, e := range nodes {
			if err := upkeep(e); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
		mu.Lock()
		done = *ended == want
		mu.Unlock()
	}
	if ctx.Err() != nil {
		t.Errorf("%d of %d tasks have ended", *ended, want)
	}
}

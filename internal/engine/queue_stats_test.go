package engine_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

func TestQueueStatsProbes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := memstore.New(&memstore.Options{Seed: 1})
	e, err := engine.New(t.Context(), s, engine.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := register(t, e, 5)
	for range 2 {
		turned, err := e.Probed(t.Context(), []engine.Probe{{Worker: w, Fault: "no answer"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(turned) > 0 {
			w = turned[0]
		} else if w, err = e.Worker(t.Context(), w.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {30 * time.Minute, 2}, {31 * time.Minute, 0}} {
		now = now.Add(c.after)
		got, err := e.QueueStats(t.Context(), nil)
		if err != nil || got.Measured.ProbesFailedLastHour != c.want || len(got.Workers) != 1 ||
			got.Workers[0].State != task.WorkerUnhealthy {
			t.Errorf("after %s more %d probes have failed, want %d; the workers are %+v, %v", c.after,
				got.Measured.ProbesFailedLastHour, c.want, got.Workers, err)
		}
	}
}

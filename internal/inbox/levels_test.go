package inbox_test

import (
	"fmt"
	"testing"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Metrics see a bounded number of queues, and distinguish a silent broker from an empty one.
func TestLevels(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.source(deadletter.Source{Namespace: "a", Name: "reports", Driver: "http"})
		r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		r.broker.waiting = 3
		levels, err := r.Levels(t.Context())
		if err != nil || len(levels) != 2 {
			t.Fatalf("%+v, %v", levels, err)
		}
		reports, orders := levels[0], levels[1]
		if reports.Name != "reports" || reports.Err != nil || reports.Breaker != "" || reports.Depth() != 0 {
			t.Errorf("a source of reports: %+v", reports)
		}
		if orders.Name != "orders.dlq" || orders.Letters != 2 || orders.Waiting != 3 || orders.Err != nil ||
			orders.Breaker != task.BreakerClosed {
			t.Errorf("%+v", orders)
		}
		r.broker.down = true
		if levels, err = r.Levels(t.Context()); err != nil || levels[1].Err == nil || levels[1].Letters != 2 {
			t.Errorf("without a broker: %+v, %v", levels[1], err)
		}
		for i := range 200 {
			r.source(deadletter.Source{Namespace: "b", Name: fmt.Sprintf("s%03d", i), Driver: "http"})
		}
		if levels, err = r.Levels(t.Context()); err != nil || len(levels) != 200 {
			t.Errorf("%d of 202 sources, %v", len(levels), err)
		}
	})
}

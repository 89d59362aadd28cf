package kernel

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Leases that end in other processes are forgotten.
func TestLeasesThatEndElsewhere(t *testing.T) {
	t.Parallel()
	g := &dispatchQueue{leases: map[task.ID]Hold{}}
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	last := Hold{}
	for i := range 100_000 { // a hundred in a second
		now = now.Add(10 * time.Millisecond)
		last = Hold{Offered: Offered{Step: task.MakeID(int64(i+1), 0), Token: int64(now)}, Until: now.Add(30 * time.Second)}
		g.remember([]Hold{last}, now)
	}
	// those of the last 90 seconds, and as many again
	if n := len(g.leases); n > 20_000 {
		t.Errorf("%d leases are remembered", n)
	}
	if _, ok := g.leaseOf(last.Step); !ok {
		t.Error("the last lease is forgotten")
	}
}

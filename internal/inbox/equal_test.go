package inbox_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// Equal messages of a broker that has neither positions nor identifiers, but says exactly which it has delivered
// before: each is a letter, and none is a second one when it comes again.
func TestEqualMessages(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		batch := func(n int, redelivered bool) (list []inbox.Arrival) {
			for range n {
				a := dead(1, "Timeout")
				a.MessageID, a.FailedAt, a.Exact, a.Redelivered = "", task.Instant(1_700_000_000_000_000), true, redelivered
				list = append(list, a)
			}
			return list
		}
		for i, c := range []struct {
			n           int
			redelivered bool
			captured    int
		}{
			{5, false, 5}, // five that are equal
			{5, true, 0},  // their acknowledgement was lost
			{3, false, 3}, // three more of the same second
			{2, true, 0},
			{7, true, 2}, // two of them were not stored before
		} {
			got := 0
			for _, receipt := range r.die(batch(c.n, c.redelivered)...) {
				if receipt.Status == inbox.Captured {
					got++
				}
			}
			if got != c.captured {
				t.Errorf("batch %d: %d letters are new, want %d", i+1, got, c.captured)
			}
		}
	})
}

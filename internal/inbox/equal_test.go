package inbox_test

import (
	"slices"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Without positions, equal messages are delivered, some twice. Only the journal proves a duplicate; others are letters.
func TestEqualDeliveries(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		capture := func(receiver string, n int, redelivered bool) (captured int) {
			var list []inbox.Arrival
			for range n {
				a := dead(1, "Timeout")
				a.Receiver, a.Redelivered = receiver, redelivered
				list = append(list, a)
			}
			for _, receipt := range r.die(list...) {
				if receipt.Status == model.Captured {
					captured++
				}
			}
			return captured
		}
		for i, c := range []struct {
			receiver    string
			n           int
			redelivered bool
			captured    int
		}{
			{"a", 5, false, 5}, // equal, acknowledged with the next batch
			{"a", 3, false, 3}, // more, whose acknowledgement is lost
			{"b", 2, true, 0},
			{"b", 4, true, 3},  // one was stored; a received three, and ended before it stored them
			{"c", 1, false, 1}, // equal, and not delivered before
			{"d", 6, true, 1},  // four of b, one of c; the last is not stored
		} {
			if got := capture(c.receiver, c.n, c.redelivered); got != c.captured {
				t.Errorf("batch %d: %d letters are new, want %d", i+1, got, c.captured)
			}
		}
	})
}

func TestStoredBatch(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		list := []inbox.Arrival{dead(1, "Timeout"), dead(1, "Timeout"), dead(2, "Timeout")}
		for i := range list {
			list[i].Receiver = "a"
		}
		store := r.Storing(&deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"})(
			slices.Clone(list))
		for range 2 {
			if err := store(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.want("letters", len(r.all()), 3)
		}
	})
}

func (r *rig) all() []*deadletter.Letter {
	r.t.Helper()
	page, err := r.Letters(r.t.Context(), inbox.LetterFilter{Limit: 1000,
		Selection: deadletter.Selection{Namespace: "default"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Letters
}

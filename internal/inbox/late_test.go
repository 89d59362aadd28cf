package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (r *rig) again() {
	r.t.Helper()
	r.redrive(deadletter.Selection{Namespace: "default", Source: "orders"})
}

// known wants each message to be a duplicate of one letter, which does not change.
func (r *rig) known(of task.ID, list ...inbox.Arrival) {
	r.t.Helper()
	before := r.letter(of)
	for i, a := range list {
		got := r.die(a)[0]
		r.want(fmt.Sprint("late delivery ", i), []any{got.Status, got.Letter}, []any{model.Duplicate, of})
	}
	for _, got := range r.die(list...) {
		r.want("late deliveries in one batch", []any{got.Status, got.Letter}, []any{model.Duplicate, of})
	}
	after := r.letter(of)
	r.want("the letter", []any{after.State, after.Version, after.Occurrences},
		[]any{before.State, before.Version, before.Occurrences})
}

// A late acknowledgement repeats a message after its letter was sent and died again. Each death stays known by
// position.
func TestLateDelivery(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.Position = "dlq@1"
		id := r.die(first)[0].Letter
		deaths := []inbox.Arrival{first}
		for round := 1; round <= 3; round++ {
			r.again()
			r.known(id, deaths...) // while it is sent back
			died := back(r.letter(id), "Schema")
			if round == 2 {
				died.Replays = 0 // its consumer kept one header of two
			}
			r.want("died again", r.die(died)[0].Status, model.Returned)
			deaths = append(deaths, died)
			r.known(id, deaths...) // while it is open
		}
		if _, err := r.DiscardLetter(t.Context(), id, inbox.By{Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		r.known(id, deaths...)

		// The deliveries are forgotten with the letter, not before.
		r.pass(deadletter.Retention - time.Second)
		r.known(id, deaths...)
		r.pass(2 * time.Second)
		_, err := r.Letter(t.Context(), id)
		r.refused(err, task.NotFound)
		got := r.die(first)[0]
		r.want("after the letter was deleted", got.Status, model.Captured)
		r.want("a late delivery of the new letter", r.die(first)[0],
			capture.Receipt{Letter: got.Letter, Group: got.Group, Status: model.Duplicate})
	})
}

// A letter returns through the queue of another source, by its headers. The delivery must not hide a message at the
// same position in its own queue. Content alone proves nothing in another source.
func TestReturnByAnotherSource(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		retries := &deadletter.Source{Namespace: "default", Name: "retries", Driver: "memory", Queue: "orders.dlq"}
		r.source(*retries)
		first := dead(1, "Timeout")
		first.Position = "0:1"
		id := r.die(first)[0].Letter
		r.again()
		capture := func(a inbox.Arrival) capture.Receipt {
			got, err := r.Capture(t.Context(), retries, []inbox.Arrival{a})
			if err != nil {
				t.Fatal(err)
			}
			return got[0]
		}
		bare := first
		bare.Position = "0:7"
		r.want("content alone", capture(bare).Status, model.Captured)
		died := back(r.letter(id), "Schema")
		died.Position = "0:2"
		for _, want := range []model.ReceiptStatus{model.Returned, model.Duplicate} {
			got := capture(died)
			r.want("through another source", []any{got.Status, got.Letter}, []any{want, id})
		}
		r.known(id, first)
		other := dead(2, "Timeout")
		other.Position = "0:2"
		r.want("another message", r.die(other)[0].Status, model.Captured)
		r.again()
		r.known(id, first)
	})
}

// A message returns from a send that a restored backup lacks: it becomes a letter that names the other one.
func TestReturnAfterRestore(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.Position = "dlq@1"
		id := r.die(first)[0].Letter
		died := back(r.letter(id), "Schema")
		died.Replays = 1
		got := r.die(died)[0]
		r.want("status", got.Status, model.Captured)
		r.want("its link", r.letter(got.Letter).Link, deadletter.Link{Kind: deadletter.LinkHeader, Letter: id})
		r.known(got.Letter, died)
		r.known(id, first)
		lost := died
		lost.Letter, lost.Position = r.db.IDs().Take(r.clock(), 1), "dlq@2"
		for _, want := range []model.ReceiptStatus{model.Captured, model.Duplicate} {
			r.want("of a letter after the backup", r.die(lost)[0].Status, want)
		}
	})
}

// A send arrives, its process ends, and the repetition is refused. The item is uncertain until the message dies, which
// proves it.
func TestDeathOfAnUnknownSend(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.Position = "dlq@1"
		id := r.die(first)[0].Letter
		made := r.begin(deadletter.Plan{Observe: deadletter.NoObservation}, nil)
		r.crash(nil)
		died := back(r.letter(id), "Schema")
		r.broker.fails = func(seam.Outgoing) error { return fmt.Errorf("%w: no such queue", seam.ErrForGood) }
		r.pass(30 * time.Second)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Failed: 1, Uncertain: 1})
		l := r.letter(id)
		r.want("the letter", []any{l.State, l.Unknown, l.Replays}, []any{model.LetterOpen, true, 0})
		r.want("died", r.die(died)[0], capture.Receipt{Letter: id, Group: r.letter(id).Group, Status: model.Returned})
		l = r.letter(id)
		r.want("the letter", []any{l.State, l.Unknown, l.Replays, l.Occurrences}, []any{model.LetterOpen, false, 1, 2})
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Returned: 1, Uncertain: 1})
		r.known(id, first, died)
		r.pass(time.Second)
		r.want("open", joined(r.groups()), "Schema open 1; Timeout open 0")
	})
}

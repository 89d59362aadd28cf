package inbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// again sends all open letters of the source "orders" back.
func (r *rig) again() {
	r.t.Helper()
	r.redrive(deadletter.Selection{Namespace: "default", Source: "orders"})
}

// known captures messages one by one, and wants each to be known already as one letter, which does not change.
func (r *rig) known(of task.ID, list ...inbox.Arrival) {
	r.t.Helper()
	before := r.letter(of)
	for i, a := range list {
		got := r.die(a)[0]
		r.want(fmt.Sprint("late delivery ", i), []any{got.Status, got.Letter}, []any{inbox.Duplicate, of})
	}
	for _, got := range r.die(list...) {
		r.want("late deliveries in one batch", []any{got.Status, got.Letter}, []any{inbox.Duplicate, of})
	}
	after := r.letter(of)
	r.want("the letter", []any{after.State, after.Version, after.Occurrences},
		[]any{before.State, before.Version, before.Occurrences})
}

// TestLateDelivery: a broker delivers a message again after its letter was sent back and has died once more, because
// its acknowledgement was late. All deliveries of all its deaths stay known, whatever the letter did since.
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
			died.Replays = round
			if round == 2 {
				died.Replays = 0 // its consumer kept one header of two
			}
			// The consumer has changed it, so that nothing but its identity connects it with the letter.
			died.Content.Payload = fmt.Appendf(nil, `{"round":%d}`, round)
			r.want("died again", r.die(died)[0].Status, inbox.Returned)
			deaths = append(deaths, died)
			r.known(id, deaths...) // while it is open
		}
		if _, err := r.DiscardLetter(t.Context(), id, inbox.By{Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		r.known(id, deaths...)

		// With the letter its deliveries are forgotten, and not before.
		r.pass(deadletter.Retention - time.Second)
		r.known(id, deaths...)
		r.pass(2 * time.Second)
		_, err := r.Letter(t.Context(), id)
		r.refused(err, task.NotFound)
		got := r.die(first)[0]
		r.want("after the letter was deleted", got.Status, inbox.Captured)
		r.want("a late delivery of the new letter", r.die(first)[0],
			inbox.Receipt{Letter: got.Letter, Group: got.Group, Status: inbox.Duplicate})
	})
}

// TestKeptMessageID: the ID of a message survives a redrive on brokers without positions. A death after the redrive is
// a return, even if an earlier death had another ID, and a late delivery of a death before it is not.
func TestKeptMessageID(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		at := func(a inbox.Arrival) inbox.Arrival {
			a.FailedAt = task.At(r.clock())
			return a
		}
		first := at(dead(1, "Timeout"))
		id := r.die(first)[0].Letter
		r.again()
		second := at(dead(1, "Schema")) // neither position nor header, the same ID
		r.want("died again", r.die(second)[0].Status, inbox.Returned)
		r.known(id, first, second)

		r.again()
		third := at(back(r.letter(id), "Schema"))
		third.Position, third.MessageID = "", "another"
		r.want("died under another ID", r.die(third)[0].Status, inbox.Returned)
		r.known(id, first, second, third)
		r.again()
		r.known(id, first, second, third)
		fourth := at(dead(1, "Timeout"))
		got := r.die(fourth)[0]
		r.want("died under its first ID", []any{got.Status, got.Letter}, []any{inbox.Returned, id})
		r.known(id, first, second, third, fourth)
		r.want("occurrences", r.letter(id).Occurrences, 4)
	})
}

// TestReturnByAnotherSource: a letter of one source comes back through the queue of another one. Its delivery is known
// there, and does not hide a message that has the same position in the queue of its own source.
func TestReturnByAnotherSource(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		retries := &deadletter.Source{Namespace: "default", Name: "retries", Driver: "memory", Queue: "orders.dlq"}
		r.source(*retries)
		first := dead(1, "Timeout")
		first.Position = "0:1"
		id := r.die(first)[0].Letter
		r.again()
		died := back(r.letter(id), "Schema")
		died.Position, died.Content.Payload = "0:2", []byte("changed")
		for _, want := range []inbox.CaptureStatus{inbox.Returned, inbox.Duplicate} {
			got, err := r.Capture(t.Context(), retries, []inbox.Arrival{died})
			if err != nil {
				t.Fatal(err)
			}
			r.want("through another source", []any{got[0].Status, got[0].Letter}, []any{want, id})
		}
		r.known(id, first)
		other := dead(2, "Timeout")
		other.Position = "0:2"
		r.want("another message", r.die(other)[0].Status, inbox.Captured)
		r.again()
		r.known(id, first)
	})
}

// TestReturnAfterRestore: a message comes back from a send that a restored backup does not know. It adds nothing to its
// letter, which is open there, and becomes a letter where the backup does not have it; its delivery is known then.
func TestReturnAfterRestore(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.Position = "dlq@1"
		id := r.die(first)[0].Letter
		died := back(r.letter(id), "Schema")
		died.Replays = 1
		r.known(id, first, died)
		lost := died
		lost.Letter, lost.Position = r.db.IDs().Take(r.clock(), 1), "dlq@2"
		for _, want := range []inbox.CaptureStatus{inbox.Captured, inbox.Duplicate} {
			r.want("of a letter after the backup", r.die(lost)[0].Status, want)
		}
	})
}

// TestDeathOfAFailedSend: a process ends after a send that has arrived, and the next one cannot repeat it. The item
// says that both may be so. When the message dies, the letter is open already: the death adds nothing, and is known.
func TestDeathOfAFailedSend(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.Position = "dlq@1"
		id := r.die(first)[0].Letter
		made := r.begin(deadletter.Plan{Observe: deadletter.NoObservation}, nil)
		r.crash(nil)
		died := back(r.letter(id), "Schema")
		died.Replays = 1
		r.broker.fails = func(inbox.Outgoing) error { return errors.New("the broker is down") }
		r.pass(15 * time.Second)
		found := r.found(made.ID)
		r.want("counts", found.Counts, deadletter.Counts{Failed: 1, Uncertain: 1})
		r.want("the letter", r.letter(id).State, deadletter.Open)
		r.known(id, first, died)
	})
}

package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// crash advances the redrives, and ends this process between a send and its record. With says what happens in between.
func (r *rig) crash(with func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	r.broker.during = func() {
		if with != nil {
			with()
		}
		cancel()
	}
	if _, _, err := r.Advance(ctx); err == nil {
		r.t.Fatal("the process has not ended")
	}
}

// begin starts a redrive of all letters of the source "orders".
func (r *rig) begin(plan deadletter.Plan, edit *deadletter.Edit) *deadletter.Redrive {
	r.t.Helper()
	made, err := r.CreateRedrive(r.t.Context(), inbox.RedriveRequest{Operation: deadletter.OpRedrive, Plan: plan,
		Edit: edit, Selection: deadletter.Selection{Namespace: "default", Source: "orders"}, Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) found(id task.ID) *deadletter.Redrive {
	r.t.Helper()
	found, err := r.Redrive(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// advance does one turn of the redrives.
func (r *rig) advance() {
	r.t.Helper()
	if _, _, err := r.Advance(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// TestCrashInCanary: a process ends between sending the canary and recording it. The next one sends nothing new before
// the outcome is settled, and the canary is no larger for it.
func TestCrashInCanary(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 40 {
			r.die(dead(n, "Timeout"))
		}
		made := r.begin(deadletter.Plan{Canary: 10, Observe: time.Minute}, nil)
		r.crash(func() { // 3 of the canary come back before the process ends
			for _, id := range r.broker.sent[:3] {
				r.want("came back", r.die(back(r.letter(mustID(t, id)), "Schema"))[0].Status, inbox.Returned)
			}
		})
		r.advance()
		r.want("sent while another process may be sending", len(r.broker.sent), 10)
		r.pass(15 * time.Second)
		r.want("sent again", len(r.broker.sent), 17)
		found := r.found(made.ID)
		r.want("the wave", []int{found.Wave, found.WaveSize, found.WaveSent}, []int{1, 10, 10})
		r.want("counts", found.Counts, deadletter.Counts{Pending: 30, Sent: 7, Returned: 3, Uncertain: 7})
		r.pass(2 * time.Minute)
		r.want("state", r.found(made.ID).State, deadletter.RedriveHalted)
	})
}

// TestCrashAroundSkipped: a process ends while it sends letters among others that another redrive had taken. The next
// one decides about those, too.
func TestCrashAroundSkipped(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 12 {
			r.die(dead(n, "Timeout"))
		}
		made := r.begin(deadletter.Plan{Canary: 12}, nil)
		items, err := r.RedriveItems(t.Context(), made.ID, "", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for k, i := range items {
			if k%3 > 0 {
				if _, err := r.DiscardLetter(t.Context(), i.ID, inbox.By{Reason: "by somebody else"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.crash(nil)
		r.pass(15 * time.Second)
		r.pass(2 * time.Minute)
		found := r.found(made.ID)
		r.want("counts", found.Counts, deadletter.Counts{Sent: 4, Skipped: 8, Uncertain: 4})
		r.want("state", found.State, deadletter.RedriveDone)
	})
}

// TestCrashAfterEdit: what a crash makes a process send again is edited once, and opens again when it cannot be sent.
func TestCrashAfterEdit(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		patch := &deadletter.Edit{Patch: []byte(`[{"op":"move","from":"/order","path":"/id"}]`)}
		made := r.begin(deadletter.Plan{}, patch)
		r.crash(nil)
		r.pass(15 * time.Second)
		r.want("sent twice", r.broker.deliveries()[got.Letter.String()], 2)
		r.want("edited once", string(r.broker.got[got.Letter.String()]), `{"id":1}`)
		r.want("item", r.found(made.ID).Counts.Sent, 1)

		second := r.die(dead(2, "Timeout"))[0]
		made = r.begin(deadletter.Plan{}, nil)
		r.crash(nil)
		if err := r.DropSource(t.Context(), "default", "orders", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.pass(15 * time.Second)
		r.want("failed", r.found(made.ID).Counts.Failed, 1)
		r.want("open again", r.letter(second.Letter).State, deadletter.Open)
		r.pass(time.Second)
		r.want("counted", joined(r.groups()), "Timeout open 1")
	})
}

// TestSlowRunner: a process records late what another one has sent again and recorded. Nothing is counted twice.
func TestSlowRunner(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 20 {
			r.die(dead(n, "Timeout"))
		}
		made := r.begin(deadletter.Plan{Canary: 5, Observe: time.Hour}, nil)
		r.broker.during = func() { r.pass(15 * time.Second) } // the other process takes its turn
		r.advance()
		found := r.found(made.ID)
		r.want("the wave", []any{found.Wave, found.WaveSent, found.Behind}, []any{1, 5, 5})
		r.want("counts", found.Counts, deadletter.Counts{Pending: 15, Sent: 5, Uncertain: 5})
		for _, id := range r.broker.sent {
			r.want("replays", r.letter(mustID(t, id)).Replays, 1)
		}
	})
}

// TestLateRecord: a letter comes back, and another redrive sends it, before the first one records its send.
func TestLateRecord(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		first := r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		var second *deadletter.Redrive
		r.broker.during = func() {
			r.die(back(r.letter(got.Letter), "Schema"))
			second = r.begin(deadletter.Plan{Observe: time.Hour}, nil)
			r.broker.during = func() { // the second one has sent and not recorded, when the first one records
				r.broker.during = nil
			}
			r.advance()
		}
		r.advance()
		r.want("first", r.found(first.ID).Counts, deadletter.Counts{Returned: 1})
		r.want("second", r.found(second.ID).Counts, deadletter.Counts{Sent: 1})
		r.want("replays", r.letter(got.Letter).Replays, 2)
	})
}

// TestCancelInMidWave: what an operator cancels while a batch is sent is finished, and nothing more is sent; what is
// left can be taken by another redrive.
func TestCancelInMidWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := 0; n < 700; n += 100 {
			var batch []inbox.Arrival
			for i := range 100 {
				batch = append(batch, dead(n+i, "Timeout"))
			}
			r.die(batch...)
		}
		made := r.begin(deadletter.Plan{Canary: 700, Largest: 700, Observe: time.Minute}, nil)
		r.broker.during = func() {
			if _, err := r.ActOnRedrive(t.Context(), made.ID, inbox.CancelRedrive, inbox.By{}); err != nil {
				t.Error(err)
			}
		}
		r.advance()
		r.want("sent", len(r.broker.sent), 500)
		r.want("counts", r.found(made.ID).Counts, deadletter.Counts{Pending: 200, Sent: 500})
		rest := r.begin(deadletter.Plan{Canary: 700, Largest: 700}, nil)
		r.pass(time.Second)
		r.want("the rest", r.found(rest.ID).Counts.Sent, 200)
		r.want("letters", len(r.broker.deliveries()), 700)
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 0")
	})
}

// TestOverlappingRedrives: two redrives have frozen the same letters; each letter is sent once.
func TestOverlappingRedrives(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 20 {
			r.die(dead(n, "Timeout"))
		}
		plan := deadletter.Plan{Canary: 10, Observe: time.Second}
		a, b := r.begin(plan, nil), r.begin(plan, nil)
		for range 5 {
			r.pass(time.Minute)
		}
		r.want("sent", []int{len(r.broker.sent), len(r.broker.deliveries())}, []int{20, 20})
		for _, id := range []task.ID{a.ID, b.ID} {
			found := r.found(id)
			r.want("state", found.State, deadletter.RedriveDone)
			r.want("decided", found.Counts.Sent+found.Counts.Skipped, 20)
		}
	})
}

// TestUncertainSend: an answer that leaves the outcome open counts as sent, and is marked.
func TestUncertainSend(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		r.broker.fails = func(o inbox.Outgoing) error {
			if o.Letter.MessageID == "m1" {
				return inbox.ErrUncertain
			}
			return errors.New("refused")
		}
		made := r.begin(deadletter.Plan{}, nil)
		r.pass(time.Second)
		r.want("counts", r.found(made.ID).Counts, deadletter.Counts{Sent: 1, Failed: 1, Uncertain: 1})
		r.pass(time.Second)
		r.want("open", joined(r.groups()), "Timeout open 1")
	})
}

// TestSecondCopy: a send whose outcome was not known was repeated, and both copies die. The letter has died once more,
// and no second letter appears, not even when it was sent back again in between.
func TestSecondCopy(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.crash(nil)
		r.pass(15 * time.Second)
		r.want("sent twice", r.broker.deliveries()[got.Letter.String()], 2)
		copies := make([]inbox.Arrival, 3)
		for i := range copies {
			copies[i] = back(r.letter(got.Letter), "Schema")
			copies[i].Position, copies[i].MessageID, copies[i].Replays = fmt.Sprint("copy/", i), "m1", 1
		}
		r.want("first", r.die(copies[0])[0].Status, inbox.Returned)
		r.want("second", r.die(copies[1])[0].Status, inbox.Duplicate)
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.pass(time.Second)
		r.want("third, after it was sent again", r.die(copies[2])[0].Status, inbox.Duplicate)
		other := copies[1]
		other.Position, other.Content.Payload = "other", []byte("a part of it")
		r.want("another message under the header", r.die(other)[0].Status, inbox.Captured)
		l := r.letter(got.Letter)
		r.want("the letter", []any{l.State, l.Occurrences, l.Replays}, "[redriven 2 2]")
	})
}

// TestQuickReturn: a letter dies again before its send is recorded, on a broker without positions. The sender's ID is
// that of a message that is known, and the time of its death is before that of the record. It has returned all the
// same.
func TestQuickReturn(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := dead(1, "Timeout")
		first.FailedAt = task.At(r.clock())
		got := r.die(first)[0]
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.pass(time.Second)
		again := back(r.letter(got.Letter), "Schema")
		again.Position, again.MessageID, again.Replays = "", "m1", 1
		again.FailedAt = r.letter(got.Letter).StateAt - 1
		r.want("delivered again", r.die(first)[0].Status, inbox.Duplicate)
		r.want("died again", r.die(again)[0].Status, inbox.Returned)
		r.want("delivered again", r.die(again)[0].Status, inbox.Duplicate)

		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.pass(time.Second)
		bare := again // the consumer does not keep headers
		bare.Letter, bare.Replays, bare.FailedAt = task.ID{}, 0, r.letter(got.Letter).StateAt-1
		r.want("delivered again", r.die(again)[0].Status, inbox.Duplicate)
		r.want("died again", r.die(bare)[0].Status, inbox.Returned)
	})
}

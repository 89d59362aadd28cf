package inbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// wave captures 270 letters, sent in batches of 50, 100, 100 and 20, and starts a redrive in one wave.
func (r *rig) wave(stop deadletter.StopRule) *deadletter.Redrive {
	r.t.Helper()
	r.Batch = 50
	var batch []inbox.Arrival
	for n := range 270 {
		batch = append(batch, dead(n, "Timeout"))
	}
	r.die(batch...)
	made, err := r.CreateRedrive(r.t.Context(), redrive.Request{Operation: model.OpRedrive, Stop: stop,
		Plan:      deadletter.Plan{Canary: 270, Largest: 270, Observe: time.Hour},
		Selection: deadletter.Selection{Namespace: "default", Source: "orders"}, Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (b *broker) inSend(n int, fn func()) {
	sends := 0
	b.after = func(string) {
		if sends++; sends == n {
			fn()
		}
	}
}

// Batches recorded during the next send are sent once, in order.
func TestLargeWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		made := r.wave(deadletter.StopRule{})
		items, err := r.RedriveItems(t.Context(), made.ID, "", 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.want("sent", len(r.broker.sent), 270)
		for i, item := range items {
			if r.broker.sent[i] != item.ID.String() {
				t.Fatalf("letter %d was sent as number %d", item.No, slices.Index(r.broker.sent, item.ID.String())+1)
			}
		}
		found := r.found(made.ID)
		r.want("the wave", []any{found.State, found.WaveSent, found.Behind}, []any{"observing", 270, 270})
		r.want("counts", found.Counts, model.ItemCounts{Sent: 270})
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 0")
	})
}

// A failed send makes its batch the last, although the one before was recorded meanwhile.
func TestStopInLargeWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		sends := 0
		r.broker.fails = func(seam.Outgoing) error {
			if sends++; sends == 70 {
				return errors.New("refused")
			}
			return nil
		}
		made := r.wave(deadletter.StopRule{Failed: 1})
		r.pass(time.Second)
		found := r.found(made.ID)
		r.want("state", found.State, model.RedriveHalted)
		r.want("counts", found.Counts, model.ItemCounts{Pending: 120, Sent: 149, Failed: 1})
	})
}

// A return during a wave stops it at the next batch.
func TestReturnInLargeWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		made := r.wave(deadletter.StopRule{SamePrint: 3})
		r.broker.inSend(2, func() {
			for _, id := range r.broker.sent[:3] {
				r.want("came back", r.die(back(r.letter(mustID(t, id)), "Schema"))[0].Status, model.Returned)
			}
		})
		r.pass(time.Second)
		found := r.found(made.ID)
		r.want("state", found.State, model.RedriveHalted)
		r.want("counts", found.Counts, model.ItemCounts{Pending: 120, Sent: 147, Returned: 3})
	})
}

// After a pause no batch begins until the redrive resumes.
func TestPauseInLargeWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		made := r.wave(deadletter.StopRule{})
		act := func(what model.RedriveAction) {
			if _, err := r.ActOnRedrive(t.Context(), made.ID, what, inbox.By{}); err != nil {
				t.Error(err)
			}
		}
		r.broker.inSend(2, func() { act(model.PauseRedrive) })
		r.advance()
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Pending: 120, Sent: 150})
		act(model.ResumeRedrive)
		r.pass(time.Second)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Sent: 270})
		r.want("letters", []int{len(r.broker.sent), len(r.broker.deliveries())}, []int{270, 270})
	})
}

// A process ends with two marked batches. The next one repeats the unrecorded ones first.
func TestCrashInLargeWave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		made := r.wave(deadletter.StopRule{})
		ctx, end := context.WithCancel(t.Context())
		r.broker.inSend(3, end)
		if _, _, err := r.Advance(ctx); err == nil {
			t.Fatal("the process has not ended")
		}
		for range 3 {
			r.pass(30 * time.Second)
		}
		found := r.found(made.ID)
		r.want("the wave", []any{found.State, found.WaveSent, found.Behind}, []any{"observing", 270, 270})
		again := len(r.broker.sent) - 270
		if again != 100 && again != 200 { // the second batch may have been recorded
			t.Errorf("%d letters were sent again", again)
		}
		r.want("counts", found.Counts, model.ItemCounts{Sent: 270, Uncertain: again})
		r.want("letters", len(r.broker.deliveries()), 270)
		for _, id := range r.broker.sent {
			if l := r.letter(mustID(t, id)); l.State != model.LetterRedriven || l.Replays != 1 {
				t.Fatalf("the letter %s is %s after %d replays", l.ID, l.State, l.Replays)
			}
		}
	})
}

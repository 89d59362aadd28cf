package inbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// A node stalls at any moment of a redrive, another takes over, and the first continues. Each letter is sent once.
func TestStalledRunner(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	open := func(opts ...func(*node.Options)) *rig {
		s, err := postgres.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		return newRig(t, s, opts...)
	}
	successor := open()
	var stall atomic.Int64 // the reading of the clock at which the first node stalls; negative: none
	stall.Store(-1)
	var others func() // waits for the successor
	first := open(func(o *node.Options) {
		now := o.Now
		o.Now = func() time.Time {
			if stall.Load() >= 0 && stall.Add(-1) == 0 {
				stall.Store(-1)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range 3 {
						_, _, _ = successor.Advance(t.Context())
					}
				}()
				select {
				case <-done: // it has all it needs
				case <-time.After(300 * time.Millisecond): // it waits for a row locked by the first
				}
				others = func() { <-done }
			}
			return now()
		}
	})
	for at := range int64(30) {
		for n := range 5 {
			successor.die(dead(int(1000*at)+n, "Timeout"))
		}
		made := successor.begin(deadletter.Plan{}, nil)
		before := len(successor.broker.sent) + len(first.broker.sent)
		others = func() {}
		stall.Store(at + 1)
		if _, _, err := first.Advance(t.Context()); err != nil {
			t.Errorf("stalled at reading %d of the clock: %v", at, err)
		}
		stall.Store(-1)
		others()
		for range 3 {
			successor.pass(30 * time.Second)
		}
		sends := len(successor.broker.sent) + len(first.broker.sent) - before
		found := successor.found(made.ID)
		if found.Counts.Sent != 5 || sends != 5+found.Counts.Uncertain {
			t.Errorf("stalled at reading %d of the clock: %d letters were sent, the redrive is %s: %+v", at, sends,
				found.State, found.Counts)
		}
	}
}

// A group is split while sends of its letters fail. Both groups count their letters.
func TestSplitWhileSending(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		from := r.die(dead(1, "Timeout"), dead(2, "Timeout"), dead(3, "Timeout"))[0].Group
		r.pass(time.Second)
		r.broker.fails = func(seam.Outgoing) error { return errors.New("refused") }
		r.broker.during = func() { r.splitByOrigin(from) }
		r.begin(deadletter.Plan{}, nil)
		r.wantMoved()
	})
}

func (r *rig) splitByOrigin(from deadletter.GroupID) {
	ctx := context.WithoutCancel(r.t.Context())
	if _, err := r.SplitGroup(ctx, from, groups.SplitRequest{Keys: []string{"origin"}}); err != nil {
		r.t.Error(err)
	}
	r.later(5 * time.Second)
	for more := true; more; {
		var err error
		if _, more, err = r.AdvanceMoves(ctx); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) wantMoved() {
	r.t.Helper()
	r.pass(time.Second)
	r.pass(5 * time.Second)
	page, err := r.Groups(r.t.Context(), groups.GroupFilter{Order: "open", Limit: 100}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	r.want("groups", len(page.Groups), 2)
	r.want("open", []int64{page.Groups[0].OpenLetters, page.Groups[1].OpenLetters}, []int64{3, 0})
}

// An equal job without headers and ID dies during a send. If the broker confirms that send, there is one job; otherwise
// two.
func TestEqualMessageDuringASend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  error
		letters int
	}{
		"Confirmed": {nil, 1},
		"NoAnswer":  {seam.ErrUnknown, 2},
		"NotTried":  {seam.ErrNotTried, 2},
		"Refused":   {seam.ErrForGood, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				first := r.die(bare("1"))[0].Letter
				r.begin(deadletter.Plan{Observe: time.Hour}, nil)
				r.broker.fails = func(seam.Outgoing) error { return c.answer }
				r.broker.during = func() {
					r.want("the equal job", r.die(bare("2"))[0].Letter, first)
				}
				r.advance()
				r.broker.fails = nil
				page, err := r.Letters(t.Context(), inbox.LetterFilter{Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				r.want("letters", len(page.Letters), c.letters)
				for _, l := range page.Letters {
					r.want("state", l.State, model.LetterOpen)
					r.want("sends", l.Sends(), 1)
					if l.ID != first {
						r.want("link", l.Link, deadletter.Link{Kind: deadletter.LinkContent, Letter: first})
						r.want("payload", string(r.letter(l.ID).Original.Payload), `{"job":"refresh"}`)
					}
				}
				r.want("open letters", r.group(r.letter(first).Group).Group.OpenLetters, int64(c.letters))
			})
		})
	}
}

// A send that may not have arrived is not matched with an equal dying job.
func TestEqualMessageOfUnknownSend(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := r.die(bare("1"))[0].Letter
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
		r.advance()
		got := r.die(bare("2"))[0]
		r.want("the equal job", []any{got.Status, got.Letter == first}, []any{model.Captured, false})
		r.want("the send is owed", r.letter(first).State, model.LetterRedriving)
	})
}

// An equal job dies before that of a send that may be there twice. The second death names the send, and is no copy of
// the first.
func TestEqualMessageBeforeTheOther(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for name, during := range map[string]bool{"during the send": true, "after it": false} {
			first := r.die(bare("1 " + name))[0].Letter
			r.begin(deadletter.Plan{Observe: time.Hour}, nil)
			r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
			r.advance()
			r.broker.fails = nil
			sent := back(r.letter(first), "Timeout")
			equal := func() {
				r.want("the equal job "+name, r.die(bare("2 " + name))[0].Letter, first)
			}
			if during {
				r.broker.during = equal
			}
			r.pass(5 * time.Second)
			if !during {
				equal()
			}
			got := r.die(sent)[0]
			r.want("the job of the send "+name, []any{got.Status, got.Letter == first}, []any{model.Captured, false})
			for _, l := range r.all() { // out of the way of the next case
				if l.State == model.LetterDiscarded {
					continue
				}
				if _, err := r.DiscardLetter(t.Context(), l.ID, inbox.By{Reason: "a test"}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// crash advances the redrives and ends the process between a send and its record; with runs in between.
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

func (r *rig) begin(plan deadletter.Plan, edit *deadletter.Edit) *deadletter.Redrive {
	r.t.Helper()
	made, err := r.CreateRedrive(r.t.Context(), redrive.Request{Operation: model.OpRedrive, Plan: plan,
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

func (r *rig) advance() {
	r.t.Helper()
	if _, _, err := r.Advance(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// A process ends between sending the canary and its record. The next one settles the outcome before it sends more.
func TestCrashInCanary(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 40 {
			r.die(dead(n, "Timeout"))
		}
		made := r.begin(deadletter.Plan{Canary: 10, Observe: time.Minute}, nil)
		r.crash(func() { // 3 of the canary come back before the process ends
			for _, id := range r.broker.sent[:3] {
				r.want("came back", r.die(back(r.letter(mustID(t, id)), "Schema"))[0].Status, model.Returned)
			}
		})
		r.advance()
		r.want("sent while another process may be sending", len(r.broker.sent), 10)
		r.pass(30 * time.Second)
		r.want("sent again", len(r.broker.sent), 17)
		r.advance()
		found := r.found(made.ID)
		r.want("the wave", []int{found.Wave, found.WaveSize, found.WaveSent}, []int{1, 10, 10})
		r.want("counts", found.Counts, model.ItemCounts{Pending: 30, Sent: 7, Returned: 3, Uncertain: 7})
		r.pass(2 * time.Minute)
		r.want("state", r.found(made.ID).State, model.RedriveHalted)
	})
}

// A process ends while it sends letters among others that another redrive took. The next one decides about those too.
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
		r.pass(30 * time.Second)
		r.pass(2 * time.Minute)
		r.pass(2 * time.Minute)
		found := r.found(made.ID)
		r.want("counts", found.Counts, model.ItemCounts{Sent: 4, Skipped: 8, Uncertain: 4})
		r.want("state", found.State, model.RedriveDone)
	})
}

// A repeated send after a crash is edited once, and the letter opens if it cannot be sent.
func TestCrashAfterEdit(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		patch := &deadletter.Edit{Patch: []byte(`[{"op":"move","from":"/order","path":"/id"}]`)}
		made := r.begin(deadletter.Plan{}, patch)
		r.crash(nil)
		r.pass(30 * time.Second)
		r.want("sent twice", r.broker.deliveries()[got.Letter.String()], 2)
		r.want("edited once", string(r.broker.got[got.Letter.String()]), `{"id":1}`)
		r.want("item", r.found(made.ID).Counts.Sent, 1)

		second := r.die(dead(2, "Timeout"))[0]
		made = r.begin(deadletter.Plan{}, nil)
		r.crash(nil)
		if err := r.DropSource(t.Context(), "default", "orders", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.pass(30 * time.Second)
		r.want("failed", r.found(made.ID).Counts.Failed, 1)
		r.want("open again", r.letter(second.Letter).State, model.LetterOpen)
		r.pass(time.Second)
		r.want("counted", joined(r.groups()), "Timeout open 1")
	})
}

// A process records sends that another one has repeated and recorded. Nothing counts twice.
func TestSlowRunner(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 20 {
			r.die(dead(n, "Timeout"))
		}
		made := r.begin(deadletter.Plan{Canary: 5, Observe: time.Hour}, nil)
		r.broker.during = func() { r.pass(30 * time.Second) } // the other process takes its turn
		r.advance()
		r.advance()
		found := r.found(made.ID)
		r.want("the wave", []any{found.Wave, found.WaveSent, found.Behind}, []any{1, 5, 5})
		r.want("counts", found.Counts, model.ItemCounts{Pending: 15, Sent: 5, Uncertain: 5})
		for _, id := range r.broker.sent {
			r.want("replays", r.letter(mustID(t, id)).Replays, 1)
		}
	})
}

// A letter comes back, and another redrive sends it, before the first one records its send.
func TestLateRecord(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		first := r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		var second *deadletter.Redrive
		r.broker.during = func() {
			r.die(back(r.letter(got.Letter), "Schema"))
			second = r.begin(deadletter.Plan{Observe: time.Hour}, nil)
			r.broker.during = func() { // the second has sent but not recorded when the first records
				r.broker.during = nil
			}
			r.advance()
		}
		r.advance()
		r.want("first", r.found(first.ID).Counts, model.ItemCounts{Returned: 1})
		r.want("second", r.found(second.ID).Counts, model.ItemCounts{Sent: 1})
		r.want("replays", r.letter(got.Letter).Replays, 2)
	})
}

// A batch under way is finished after a cancel, and another redrive can take the rest.
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
			if _, err := r.ActOnRedrive(t.Context(), made.ID, model.CancelRedrive, inbox.By{}); err != nil {
				t.Error(err)
			}
		}
		r.advance()
		r.want("sent", len(r.broker.sent), 500)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Pending: 200, Sent: 500})
		rest := r.begin(deadletter.Plan{Canary: 700, Largest: 700}, nil)
		r.pass(time.Second)
		r.want("the rest", r.found(rest.ID).Counts.Sent, 200)
		r.want("letters", len(r.broker.deliveries()), 700)
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 0")
	})
}

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
			r.want("state", found.State, model.RedriveDone)
			r.want("decided", found.Counts.Sent+found.Counts.Skipped, 20)
		}
	})
}

// A send without an answer repeats under its number until it is confirmed, and the wave waits.
func TestUnknownSend(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		var numbers []string
		r.broker.fails = func(o seam.Outgoing) error {
			if o.Letter.MessageID == "m1" {
				numbers = append(numbers, o.SendID)
				return seam.ErrUnknown
			}
			return errors.New("refused")
		}
		made := r.begin(deadletter.Plan{Observe: time.Minute}, nil)
		r.advance()
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Unknown: 1, Failed: 1, Uncertain: 1})
		r.pass(time.Second)
		r.want("not yet", len(numbers), 1)
		r.want("state", r.found(made.ID).State, model.RedriveRunning)
		r.stands(got[0].Letter, model.LetterRedriving, "")
		r.pass(time.Second)
		r.want("again", len(numbers), 2)
		r.broker.fails = nil
		r.pass(4 * time.Second)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Sent: 1, Failed: 1, Uncertain: 1})
		r.stands(got[0].Letter, model.LetterRedriven, "")
		r.want("one number", []any{numbers[0] == numbers[1], r.letter(got[0].Letter).Replays}, []any{true, 1})
		r.pass(time.Second)
		r.want("state", r.found(made.ID).State, model.RedriveObserving)
		r.want("open", joined(r.groups()), "Timeout open 1")
	})
}

// A send without an answer is not repeated if the destination's log has it.
func TestArrivedBefore(t *testing.T) {
	t.Parallel()
	once, twice := model.ItemCounts{Sent: 1}, model.ItemCounts{Sent: 1, Uncertain: 1}
	with := func(c deadletter.Content, name, value string) *deadletter.Content {
		c.Headers = append(slices.Clone(c.Headers), deadletter.Header{Name: name, Value: []byte(value)})
		return &c
	}
	for name, kept := range map[string]struct {
		log   func(sent deadletter.Content) log
		again int
		want  model.ItemCounts
	}{
		"Once":  {func(sent deadletter.Content) log { return log{end: 1, sent: &sent} }, 0, once},
		"Twice": {func(sent deadletter.Content) log { return log{end: 2, sent: &sent} }, 0, twice},
		"Gone":  {func(sent deadletter.Content) log { return log{begin: 3, end: 4, sent: &sent} }, 0, once},
		"Not":   {func(deadletter.Content) log { return log{end: 1} }, 1, twice},
		"AnotherRedrive": {func(sent deadletter.Content) log {
			return log{end: 1, sent: with(sent, deadletter.HeaderRedrive, "0190a000-0000-7000-8000-000000000000")}
		}, 1, twice},
		"AnotherNumber": {func(sent deadletter.Content) log {
			return log{end: 1, sent: with(sent, deadletter.HeaderReplays, "2")}
		}, 1, twice},
		"NoID": {func(sent deadletter.Content) log {
			return log{end: 1, sent: with(sent, deadletter.HeaderLetter, "")}
		}, 1, twice},
		"AnotherContent": {func(sent deadletter.Content) log {
			sent.Payload = []byte(`{"order":2}`)
			return log{end: 1, sent: &sent}
		}, 1, twice},
		"Down": {func(sent deadletter.Content) log {
			return log{end: 1, sent: &sent, err: errors.New("down")}
		}, 1, twice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				of := r.die(dead(1, "Timeout"))[0].Letter
				tries := 0
				r.broker.fails = func(o seam.Outgoing) error {
					if tries++; tries > 1 {
						return nil
					}
					l := kept.log(o.Content)
					r.broker.log = &l
					return seam.ErrUnknown
				}
				made := r.begin(deadletter.Plan{Observe: time.Minute}, nil)
				r.advance()
				r.want("unknown", r.found(made.ID).Counts, model.ItemCounts{Unknown: 1, Uncertain: 1})
				r.pass(2 * time.Second)
				r.want("again", tries-1, kept.again)
				r.want("counts", r.found(made.ID).Counts, kept.want)
				r.stands(of, model.LetterRedriven, "")
			})
		})
	}
}

// A destination never answers: unknown sends count for the stop rule, and after some tries their letters are open and
// unknown, and never deleted.
func TestNoAnswerAtAll(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var list []inbox.Arrival
		for n := range 30 {
			list = append(list, dead(n, "Timeout"))
		}
		r.die(list...)
		r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
		made := r.begin(deadletter.Plan{Observe: time.Minute}, nil)
		r.pass(time.Second)
		found := r.found(made.ID)
		r.want("state", found.State, model.RedriveHalted)
		r.want("counts", found.Counts, model.ItemCounts{Pending: 20, Unknown: 10, Uncertain: 10})
		for range 10 {
			r.pass(30 * time.Second)
		}
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Pending: 20, Failed: 10, Uncertain: 10})
		unknown := 0
		for _, l := range r.all() {
			if l.State != model.LetterOpen || l.PurgeAt != 0 || l.Replays != 0 {
				t.Errorf("the letter is %s after %d replays, deleted at %d", l.State, l.Replays, l.PurgeAt)
			}
			if l.Unknown {
				unknown++
			}
		}
		r.want("unknown", unknown, 10)
		r.pass(time.Second)
		r.want("open", joined(r.groups()), "Timeout open 30")

		// The next redrive takes them, under the same numbers.
		r.broker.fails = nil
		r.begin(deadletter.Plan{Canary: 100}, nil)
		r.pass(time.Second)
		for _, l := range r.all() {
			r.want("the letter", []any{l.State, l.Replays, l.Unknown}, []any{model.LetterRedriven, 1, false})
		}
	})
}

// Unknown sends of a redrive and a policy are due together, in either order. Both learn the outcome.
func TestUnknownOfTwoKinds(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for _, redriveFirst := range []bool{true, false} {
			r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
			var made *deadletter.Redrive
			begin := func() {
				of := r.die(dead(int(r.clock().Unix()), "Timeout"))[0].Letter
				plan := deadletter.Plan{Observe: time.Second}
				var err error
				made, err = r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Plan: plan,
					Start: true, Selection: deadletter.Selection{Namespace: "default", IDs: []task.ID{of}}})
				if err != nil {
					t.Fatal(err)
				}
				r.advance()
			}
			if redriveFirst {
				begin()
				r.later(time.Second)
			}
			r.policy(deadletter.Policy{Strategy: model.Immediate})
			of := r.die(dead(1_000_000+int(r.clock().Unix()), "Timeout"))[0].Letter
			if _, _, err := r.SendDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.policy(deadletter.Policy{Strategy: model.Manual})
			if !redriveFirst {
				r.later(time.Second)
				begin()
			}
			r.want("unknown", r.found(made.ID).Counts, model.ItemCounts{Unknown: 1, Uncertain: 1})
			r.broker.fails = nil
			for range 3 {
				r.pass(time.Minute)
			}
			r.want("the policy's", r.letter(of).State, model.LetterRedriven)
			r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Sent: 1, Uncertain: 1})
			r.want("state", r.found(made.ID).State, model.RedriveDone)
		}
	})
}

// In an at-most-once plan no send is repeated, even after a crash. The letter opens as unknown.
func TestAtMostOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := r.die(dead(1, "Timeout"))[0].Letter
		r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
		made := r.begin(deadletter.Plan{AtMostOnce: true}, nil)
		r.pass(time.Second)
		r.broker.fails = nil
		r.pass(time.Hour)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Failed: 1, Uncertain: 1})
		r.want("sent", r.broker.deliveries()[first.String()], 1)
		r.want("unknown", []any{r.letter(first).State, r.letter(first).Unknown}, []any{model.LetterOpen, true})
		if _, err := r.DiscardLetter(t.Context(), first, inbox.By{Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		second := r.die(dead(2, "Timeout"))[0].Letter
		made = r.begin(deadletter.Plan{AtMostOnce: true}, nil)
		r.crash(nil)
		r.pass(30 * time.Second)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Failed: 1, Uncertain: 1})
		r.want("sent", r.broker.deliveries()[second.String()], 1)
		r.want("unknown", []any{r.letter(second).State, r.letter(second).Unknown}, []any{model.LetterOpen, true})
	})
}

// A send that replaces an unknown one has another number: consumers must not take it for its copy.
func TestUnknownIsEdited(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		id := r.die(dead(1, "Timeout"))[0].Letter
		r.broker.fails = func(seam.Outgoing) error { return seam.ErrUnknown }
		r.begin(deadletter.Plan{AtMostOnce: true}, nil)
		r.pass(time.Second)
		var numbers []string
		r.broker.fails = func(o seam.Outgoing) error {
			numbers = append(numbers, o.SendID)
			return nil
		}
		first := r.letter(id)
		r.begin(deadletter.Plan{}, &deadletter.Edit{Patch: []byte(`{"fixed":true}`)})
		r.pass(time.Second)
		l := r.letter(id)
		r.want("the letter", []any{l.State, l.Replays}, []any{model.LetterRedriven, 2})
		if len(numbers) != 1 || !strings.Contains(numbers[0], " 2 ") {
			t.Errorf("sent as %q", numbers)
		}
		// The first one did arrive, and dies: one more death of the letter.
		died := back(first, "Late")
		died.Replays = 1
		r.want("the first one", r.die(died)[0].Status, model.Returned)
		l = r.letter(id)
		r.want("the letter", []any{l.State, l.Replays, l.Occurrences}, []any{model.LetterOpen, 2, 2})
	})
}

// Both copies of a repeated send die: one more death, and no second letter, even after another send in between. Deaths
// beyond the copies are letters.
func TestSecondCopy(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.crash(nil)
		r.pass(30 * time.Second)
		r.want("sent twice", r.broker.deliveries()[got.Letter.String()], 2)
		copies := make([]inbox.Arrival, 3)
		for i := range copies {
			copies[i] = back(r.letter(got.Letter), "Schema")
			copies[i].Position, copies[i].MessageID, copies[i].Replays = fmt.Sprint("copy/", i), "m1", 1
		}
		r.want("first", r.die(copies[0])[0].Status, model.Returned)
		r.begin(deadletter.Plan{Observe: time.Hour}, nil)
		r.pass(time.Second)
		r.want("second, after it was sent again", r.die(copies[1])[0].Status, model.Duplicate)
		r.want("delivered again", r.die(copies[0])[0].Status, model.Duplicate)
		other := copies[1]
		other.Position, other.Content.Payload = "other", []byte("a part of it")
		r.want("another message under the header", r.die(other)[0].Status, model.Captured)
		l := r.letter(got.Letter)
		r.want("the letter", []any{l.State, l.Occurrences, l.Replays}, "[redriven 2 2]")
		r.want("third", r.die(copies[2])[0].Status, model.Captured)
	})
}

// A letter dies again before its send is recorded, without positions, with and without headers.
func TestQuickReturn(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		id := r.die(dead(1, "Timeout"))[0].Letter
		for round, bare := range []bool{false, true} {
			made := r.begin(deadletter.Plan{Observe: time.Hour}, nil)
			r.broker.during = func() {
				again := back(r.letter(id), "Schema")
				again.Position, again.MessageID = "", "m1"
				if bare {
					again.Letter, again.Replays = task.ID{}, 0
				}
				r.want("died again", r.die(again)[0], capture.Receipt{Letter: id,
					Group: r.letter(id).Group, Status: model.Returned})
			}
			r.advance()
			r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Returned: 1})
			l := r.letter(id)
			r.want("the letter", []any{l.State, l.Replays, l.Occurrences}, []any{model.LetterOpen, round + 1, round + 2})
		}
	})
}

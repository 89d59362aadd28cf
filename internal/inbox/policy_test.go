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
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

func (r *rig) policy(p deadletter.Policy) {
	r.t.Helper()
	p.Namespace, p.Source = "default", "orders"
	if _, err := r.SavePolicy(r.t.Context(), &p, inbox.By{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stands(id task.ID, state model.LetterState, reason string) {
	r.t.Helper()
	l := r.letter(id)
	if l.State != state || !strings.Contains(l.Reason, reason) || (reason == "") != (l.Reason == "") {
		r.t.Fatalf("the letter is %s (%q), want %s (%q)", l.State, l.Reason, state, reason)
	}
}

// After its retries a letter is discarded for that reason, though the source's default would park it.
func TestPolicyExhausted(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Exponential, Base: time.Minute})
		got := r.die(dead(1, "Timeout"))[0]
		for replay, after := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			r.stands(got.Letter, model.LetterScheduled, "")
			r.pass(after - time.Second)
			r.want("sent too early", len(r.broker.sent), replay)
			r.pass(time.Second)
			r.want("sent", len(r.broker.sent), replay+1)
			r.die(back(r.letter(got.Letter), "Timeout"))
		}
		r.stands(got.Letter, model.LetterDiscarded, "policy: it was sent back 3 times; the policy allows 3")
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 0")
		if _, err := r.RestoreLetter(t.Context(), got.Letter, inbox.By{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Hour)
		r.stands(got.Letter, model.LetterOpen, "")
		r.want("groups", joined(r.groups()), "Timeout open 1")
		r.want("sent", len(r.broker.sent), 3)
	})
}

// A failed send is tried again by the schedule until the retries or the age are exhausted. Success starts anew.
func TestPolicySendFails(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		down := func(seam.Outgoing) error { return errors.New("the broker is down") }
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 3})
		r.broker.fails = down
		got := r.die(dead(1, "Timeout"))[0]
		r.pass(time.Second)
		r.stands(got.Letter, model.LetterScheduled, "the broker is down")
		r.pass(time.Minute)
		r.stands(got.Letter, model.LetterScheduled, "the broker is down")
		r.want("failed", r.letter(got.Letter).FailedSends, 2)
		r.broker.fails = nil
		r.pass(2 * time.Minute)
		r.stands(got.Letter, model.LetterRedriven, "")
		r.want("failed and sent", []int{r.letter(got.Letter).FailedSends, r.letter(got.Letter).Replays}, "[0 1]")

		r.die(back(r.letter(got.Letter), "Timeout"))
		r.broker.fails = down
		r.pass(time.Second)
		r.pass(time.Minute)
		r.stands(got.Letter, model.LetterDiscarded, "1 times, and 2 sends failed; the policy allows 3; "+
			"the last send: the broker is down")
		r.pass(time.Second)
		r.want("groups", joined(r.groups()), "Timeout open 0")
		if _, err := r.RestoreLetter(t.Context(), got.Letter, inbox.By{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		r.want("failed", r.letter(got.Letter).FailedSends, 0)

		// A letter that was not tried costs no retry, and waits for its destination.
		r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: 1})
		r.broker.fails = func(seam.Outgoing) error { return fmt.Errorf("%w: the breaker is open", seam.ErrNotTried) }
		waits := r.die(dead(3, "Timeout"))[0]
		for range 3 {
			r.pass(15 * time.Second)
			r.stands(waits.Letter, model.LetterScheduled, "the breaker is open")
		}
		r.want("failed", r.letter(waits.Letter).FailedSends, 0)
		r.pass(time.Second)
		r.broker.fails = nil
		r.pass(13 * time.Second)
		r.stands(waits.Letter, model.LetterScheduled, "the breaker is open")
		r.pass(time.Second)
		r.stands(waits.Letter, model.LetterRedriven, "")
		r.broker.fails = down

		r.policy(deadletter.Policy{Strategy: model.Fixed, Base: time.Minute, MaxRetries: 99, MaxAge: time.Hour,
			KeepExhausted: true})
		kept := r.die(dead(2, "Timeout"))[0]
		for range 70 {
			r.pass(time.Minute)
		}
		r.stands(kept.Letter, model.LetterOpen, "it died more than 1h0m0s ago")
	})
}

// A process ends between a send and its record: the send repeats under its ID, with an act.
func TestPolicySendsAgain(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Immediate})
		got := r.die(dead(1, "Timeout"))[0]
		ctx, cancel := context.WithCancel(t.Context())
		r.broker.during = cancel
		if _, _, err := r.SendDue(ctx); err == nil {
			t.Fatal("the process has not ended")
		}
		r.pass(time.Second)
		r.want("sent while another process may be sending", len(r.broker.sent), 1)
		r.pass(30 * time.Second)
		r.want("sent", r.broker.deliveries()[got.Letter.String()], 2)
		r.stands(got.Letter, model.LetterRedriven, "")
		acts, err := operate.Of(r.client).Audit(t.Context(), operate.AuditFilter{Kind: "send_letter_again"})
		if err != nil {
			t.Fatal(err)
		}
		if len(acts) != 1 || !strings.Contains(string(acts[0].Data), got.Letter.String()) {
			t.Errorf("reported: %+v", acts)
		}
	})
}

// A policy outlives its source, and can still be removed.
func TestPolicyWithoutSource(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Fixed, Base: time.Minute})
		if err := r.DropSource(t.Context(), "default", "orders", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.refused(r.DropPolicy(limited(t, "other"), "default", "orders", "", inbox.By{}), task.NotFound)
		if err := r.DropPolicy(t.Context(), "default", "orders", "", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.refused(r.DropPolicy(t.Context(), "default", "orders", "", inbox.By{}), task.NotFound)
		r.source(deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq"})
		r.stands(r.die(dead(1, "Timeout"))[0].Letter, model.LetterOpen, "")
	})
}

// TestPolicySendNotConfirmed: a policy sends a job without headers and ID, and an equal job dies before that send is
// confirmed, which it never is. What may have arrived may be the job that died: it is kept for an operator, and the
// policy continues with one letter. What has certainly not arrived is its own job.
func TestPolicySendNotConfirmed(t *testing.T) {
	t.Parallel()
	const retries = 4
	for name, c := range map[string]struct {
		answers   []error // of the broker, round by round; then it confirms
		ends      bool    // the process, in the first round before the record
		sends     int     // that have reached the broker
		left      int     // letters for an operator
		discarded int
	}{
		"NoAnswer":  {[]error{seam.ErrUnknown}, false, retries, 1, 1},
		"NoAnswers": {slices.Repeat([]error{seam.ErrUnknown}, 2*retries), false, retries, retries, 1},
		"Ended":     {nil, true, retries, 1, 1},
		"Refused":   {[]error{errors.New("refused")}, false, 2 * (retries - 1), 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				r.policy(deadletter.Policy{Strategy: model.Immediate, MaxRetries: retries})
				r.die(bare("0"))
				for round := range 2 * retries {
					ctx, end := context.WithCancel(t.Context())
					before := len(r.broker.sent)
					r.broker.fails = func(seam.Outgoing) error { return append(c.answers, make([]error, round+1)...)[round] }
					r.broker.after = func(string) {
						r.die(bares(fmt.Sprint(round+1), max(1, len(r.broker.sent)-before))...)
						if c.ends && round == 0 {
							end()
						}
					}
					if _, _, err := r.SendDue(ctx); err != nil && ctx.Err() == nil {
						t.Fatal(err)
					}
					end()
					r.later(time.Hour)
				}
				r.want("sends", len(r.broker.sent), c.sends)
				r.kept(c.left, c.discarded)
			})
		})
	}
}

// kept wants so many letters that a policy has left because an equal message died, and so many that it has discarded.
func (r *rig) kept(left, discarded int) {
	r.t.Helper()
	page, err := r.Letters(r.t.Context(), inbox.LetterFilter{Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range page.Letters {
		switch {
		case l.State == model.LetterOpen && strings.HasPrefix(l.Reason, "an equal message died"):
			left--
		case l.State == model.LetterDiscarded && strings.Contains(l.Reason, "it was sent back 4 times"):
			discarded--
		default:
			r.t.Errorf("the letter is %s (%q)", l.State, l.Reason)
		}
	}
	r.want("left to an operator and discarded, missing", []int{left, discarded}, []int{0, 0})
}

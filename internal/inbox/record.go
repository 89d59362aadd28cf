package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// record is one transaction that stores outcomes of sends of letters: in the sends, the letters and the items of their
// redrives. A send that is not in flight any more under its turn has been settled by somebody else: its message has
// died, or another process has found it.
type record struct {
	in       *Inbox
	ctx      context.Context
	tx       engine.Tx
	turn     turn
	now      task.Instant
	policies policies // decide about letters that no redrive sends
	once     func(redrive task.ID) bool

	letters   map[task.ID]*deadletter.Letter
	sends     []deadletter.Send
	copies    []deadletter.Send
	items     []deadletter.Item
	changed   []*deadletter.Letter
	tally     deadletter.Tally
	decisions *decisions
}

// recordSends stores outcomes of letters, and items that were decided without a send.
func (in *Inbox) recordSends(ctx context.Context, tx engine.Tx, t turn, outcomes []outcome, decided []deadletter.Item,
	of policies, once func(redrive task.ID) bool,
) error {
	if err := t.holds(ctx, tx); err != nil {
		return err
	}
	r := &record{in: in, ctx: ctx, tx: tx, turn: t, now: in.now(), policies: of, once: once, items: decided,
		letters: map[task.ID]*deadletter.Letter{}, decisions: newDecisions()}
	if err := r.all(outcomes); err != nil {
		return err
	}
	in.observeSends(tx, outcomes)
	rows := in.store
	return errors.Join(rows.SaveSends(ctx, tx, r.sends), rows.AddSends(ctx, tx, r.copies), rows.SaveStates(ctx, tx,
		r.changed), in.saveItems(ctx, tx, r.items), r.decisions.store(ctx, tx, in), rows.AddDeltas(ctx, tx,
		r.tally.Deltas()), in.tell(ctx, tx, r.decisions.events(r.now)...))
}

// all records the outcomes. Letters are locked before their sends, as everywhere.
func (r *record) all(outcomes []outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	ids := make([]task.ID, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].send.Owner
	}
	letters, err := r.in.store.BareLetters(r.ctx, r.tx, sortIDs(ids))
	if err != nil {
		return err
	}
	for _, l := range letters {
		r.letters[l.ID] = l
	}
	sends, err := r.in.store.SendsOf(r.ctx, r.tx, deadletter.SendLetter, ids)
	if err != nil {
		return err
	}
	type key struct {
		owner task.ID
		no    int
	}
	byKey := make(map[key]*deadletter.Send, len(sends))
	for i := range sends {
		byKey[key{sends[i].Owner, sends[i].No}] = &sends[i]
	}
	for i := range outcomes {
		o := &outcomes[i]
		s, l := byKey[key{o.send.Owner, o.send.No}], r.letters[o.send.Owner]
		if s == nil || l == nil || s.State != deadletter.SendInFlight || s.Turn != r.turn.no {
			continue
		}
		if err := r.one(o, s, l); err != nil {
			return err
		}
	}
	return nil
}

// one records one outcome.
func (r *record) one(o *outcome, s *deadletter.Send, l *deadletter.Letter) error {
	over := o.settle(s, r.once(s.About), r.now)
	i := o.item
	i.At, i.Uncertain = r.now, s.Copies > 1 || s.Copies == 1 && s.State == deadletter.SendUnknown
	if o.err != nil && !o.delivered() {
		i.Message = itemMessage(o.err)
	}
	current := l.State == deadletter.Redriving && s.No == l.Replays+1
	switch {
	case s.State == deadletter.SendDelivered:
		i.State, i.Message = deadletter.ItemSent, ""
		if i.Uncertain {
			i.Message = "it is confirmed; a try before had no answer"
		}
		if current {
			if err := l.Sent(s.No, r.now, deadletter.Retention); err != nil {
				return err
			}
		}
		r.copy(s, l)
	case !over:
		i.State = deadletter.ItemUnknown
	case errors.Is(o.err, ErrNotTried): // nothing was charged: the item waits for its turn
		i.State = deadletter.ItemPending
	default:
		i.State = deadletter.ItemFailed
		if s.Copies > 0 {
			i.Message = itemMessage(fmt.Errorf("it may have arrived, and was not confirmed in %d tries: %w", s.Tries, o.err))
		}
	}
	if over && s.State != deadletter.SendDelivered && current {
		if err := r.open(o, s, l); err != nil {
			return err
		}
	}
	if s.About.IsZero() {
		r.decisions.news.retried(o, over, l)
	}
	if current {
		r.changed = append(r.changed, l)
	}
	r.sends = append(r.sends, *s)
	r.items = append(r.items, i)
	return nil
}

// open opens a letter that was not sent, or of which that is not known. A policy decides about it again; a try that was
// not begun costs it nothing.
func (r *record) open(o *outcome, s *deadletter.Send, l *deadletter.Letter) error {
	why := itemMessage(o.err)
	if s.Copies > 0 {
		why = "it may have arrived: " + why
	}
	if err := l.Unmark(why, s.Copies > 0, r.now); err != nil {
		return err
	}
	if s.About.IsZero() {
		tried := !errors.Is(o.err, ErrNotTried)
		if tried {
			l.FailedSends++
		}
		r.in.decide(r.policies, l, l.Reason, r.now, r.decisions)
		if l.State == deadletter.Scheduled && !tried {
			l.Due = r.now
			if !o.late {
				l.Due = max(l.Due, r.now.Add(untriedPause))
			}
		}
	}
	r.tally.Of(l.Group).OpenLetters += opened(l.State)
	return nil
}

// copy plans a copy of a letter that a policy has sent, where the policy wants that.
func (r *record) copy(s *deadletter.Send, l *deadletter.Letter) {
	if p := r.policies.of(l); p == nil || !p.CopyRetries || !s.About.IsZero() {
		return
	}
	of := *s
	of.Kind, of.State, of.Destination = deadletter.SendCopy, deadletter.SendPlanned, s.Destination+deadletter.CopySuffix
	of.NextAt, of.Tries, of.Copies = r.now, 0, 0
	r.copies = append(r.copies, of)
}

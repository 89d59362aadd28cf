package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

type sent struct {
	turn     turn
	outcomes []outcome
	decided  []deadletter.Item          // without a send
	policies policies                   // for letters without a redrive
	once     func(redrive task.ID) bool // whether a redrive repeats no sends; nil: all are repeated
	fast     bool
}

// ErrChanged rolls back a mark or record that relies on an earlier read: others have changed a letter or its send.
var ErrChanged = errors.New("a send or its letter has changed")

// settling records outcomes fast if all are confirmed, as most are: then letters and sends need not be read, only be as
// they were marked. Otherwise it records again.
func (in *Inbox) settling(outcomes []outcome, record func(fast bool) error) error {
	fast := len(outcomes) > 0
	for i := range outcomes {
		fast = fast && outcomes[i].err == nil && !outcomes[i].item.Uncertain
	}
	err := record(fast)
	if errors.Is(err, ErrChanged) {
		return record(false)
	}
	return err
}

// record is one transaction that stores outcomes in sends, letters and items. A send no longer in flight under its turn
// is settled: its message has died, or another process has found it.
type record struct {
	in  *Inbox
	ctx context.Context
	tx  engine.Tx
	sent
	now task.Instant

	sends     []deadletter.Send
	copies    []deadletter.Send
	items     []deadletter.Item
	changed   []*deadletter.Letter
	apart     []*deadletter.Letter
	tally     deadletter.Tally
	decisions *decisions
}

func (in *Inbox) recordSends(ctx context.Context, tx engine.Tx, of sent) error {
	if err := of.turn.holds(ctx, tx); err != nil {
		return err
	}
	r := &record{in: in, ctx: ctx, tx: tx, sent: of, now: in.Now(), items: of.decided, decisions: newDecisions()}
	save, all := r.save, r.all
	if of.fast {
		save, all = r.saveFast, r.confirmed
	}
	if err := all(of.outcomes); err != nil {
		return err
	}
	in.observeSends(tx, of.outcomes)
	rows := in.store
	return errors.Join(save(), rows.AddSends(ctx, tx, r.copies), in.saveItems(ctx, tx, r.items), r.decisions.store(ctx, tx,
		in.Desk), rows.AddDeltas(ctx, tx, r.tally.Deltas()), in.Tell(ctx, tx, r.decisions.events(r.now)...))
}

func (r *record) save() error {
	rows := r.in.store
	if len(r.apart) > 0 {
		if _, err := rows.AddLetters(r.ctx, r.tx, r.apart); err != nil {
			return err
		}
	}
	return errors.Join(rows.SaveStates(r.ctx, r.tx, r.changed), rows.SaveSends(r.ctx, r.tx, r.sends))
}

// saveFast stores sends and letters if they are as they were marked. Letters come first, as everywhere.
func (r *record) saveFast() error {
	if err := r.in.store.SaveUnchanged(r.ctx, r.tx, r.changed); err != nil {
		return err
	}
	return r.in.store.SaveDelivered(r.ctx, r.tx, r.sends)
}

func (r *record) confirmed(outcomes []outcome) error {
	for i := range outcomes {
		o := &outcomes[i]
		s, l := o.send, *o.out.Letter // the store may run this again after a conflict
		if err := r.one(o, &s, &l); err != nil {
			return err
		}
	}
	return nil
}

// all records the outcomes. It locks letters before sends, as everywhere.
func (r *record) all(outcomes []outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	ids := make([]task.ID, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].send.Owner
	}
	letters, err := r.in.store.BareLetters(r.ctx, r.tx, desk.SortIDs(ids))
	if err != nil {
		return err
	}
	of := byID(letters)
	sends, err := r.in.store.SendsOf(r.ctx, r.tx, deadletter.SendLetter, ids)
	if err != nil {
		return err
	}
	byKey := make(map[sendKey]*deadletter.Send, len(sends))
	for i := range sends {
		byKey[keyOf(&sends[i])] = &sends[i]
	}
	for i := range outcomes {
		o := &outcomes[i]
		s, l := byKey[keyOf(&o.send)], of[o.send.Owner]
		if s == nil || l == nil || s.State != deadletter.SendInFlight || s.Turn != r.turn.no {
			continue
		}
		if err := r.one(o, s, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) one(o *outcome, s *deadletter.Send, l *deadletter.Letter) error {
	over := o.settle(s, r.once != nil && r.once(s.About), r.now)
	if s.Died > 0 {
		return r.presumed(o, s)
	}
	i := o.item
	i.At, i.Uncertain = r.now, s.Copies > 1 || s.Copies == 1 && s.State == deadletter.SendUnknown
	if o.err != nil && !o.delivered() {
		i.Message = desk.ItemMessage(o.err)
	}
	current := l.State == model.LetterRedriving && s.No == l.Replays+1
	switch {
	case s.State == deadletter.SendDelivered:
		i.State, i.Message = model.ItemSent, ""
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
		i.State = model.ItemUnknown
	case errors.Is(o.err, ErrNotTried): // nothing was charged: the item waits for its turn
		i.State = model.ItemPending
	default:
		i.State = model.ItemFailed
		if s.Copies > 0 {
			i.Message = desk.ItemMessage(fmt.Errorf("it may have arrived, and was not confirmed in %d tries: %w", s.Tries,
				o.err))
		}
	}
	if over && s.State != deadletter.SendDelivered && current {
		if err := r.open(o, s, l); err != nil {
			return err
		}
	}
	if s.About.IsZero() {
		retried(r.decisions.news, o, over, l)
	}
	if current {
		r.changed = append(r.changed, l)
	}
	r.sends = append(r.sends, *s)
	r.items = append(r.items, i)
	return nil
}

// presumed records the outcome of a send whose message seems to have died already: an equal one has. If the send is not
// confirmed they may be two messages, and what was sent becomes its own letter. If it may have arrived they may be
// one message as well, and the policy has the letter that has died: with both it would send twice as many each time.
func (r *record) presumed(o *outcome, s *deadletter.Send) error {
	if s.State == deadletter.SendDelivered {
		r.sends = append(r.sends, *s)
		return nil
	}
	s.GiveUp(desk.ItemMessage(o.err))
	r.sends = append(r.sends, *s)
	l := o.out.Letter.Apart(r.in.NewID(), s, r.now)
	l.Identity = deadletter.Identify("", l.ID.String(), l.Original)
	if s.About.IsZero() && s.Copies == 0 {
		r.policies.decide(l, l.Reason, r.now, r.decisions)
	}
	r.tally.Of(l.Group).OpenLetters += opened(l.State)
	r.apart = append(r.apart, l)
	return nil
}

// open opens a letter whose send failed or has no known outcome. A policy decides again; a try that was not begun costs
// the letter nothing.
func (r *record) open(o *outcome, s *deadletter.Send, l *deadletter.Letter) error {
	why := desk.ItemMessage(o.err)
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
		r.policies.decide(l, l.Reason, r.now, r.decisions)
		if l.State == model.LetterScheduled && !tried {
			l.Due = r.now
			if !o.late {
				l.Due = max(l.Due, r.now.Add(untriedPause))
			}
		}
	}
	r.tally.Of(l.Group).OpenLetters += opened(l.State)
	return nil
}

func (r *record) copy(s *deadletter.Send, l *deadletter.Letter) {
	if p := r.policies.of(l); p == nil || !p.CopyRetries || !s.About.IsZero() {
		return
	}
	of := *s
	of.Kind, of.State, of.Destination = deadletter.SendCopy, deadletter.SendPlanned, s.Destination+deadletter.CopySuffix
	of.NextAt, of.Tries, of.Copies = r.now, 0, 0
	r.copies = append(r.copies, of)
}

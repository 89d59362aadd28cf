package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Sent is what a transaction records of a batch.
type Sent struct {
	Turn     Turn
	Outcomes []Outcome
	Decided  []deadletter.Item          // without a send
	policies sources.Policies           // for letters without a redrive
	Once     func(redrive task.ID) bool // whether a redrive repeats no sends; nil: all are repeated
	Fast     bool
}

// ErrChanged rolls back a mark or record that relies on an earlier read: others have changed a letter or its send.
var ErrChanged = errors.New("a send or its letter has changed")

// Settling records outcomes fast if all are confirmed, as most are: then letters and sends need not be read, only be as
// they were marked. Otherwise it records again.
func (in *Outbox) Settling(outcomes []Outcome, record func(fast bool) error) error {
	fast := len(outcomes) > 0
	for i := range outcomes {
		fast = fast && outcomes[i].Err == nil && !outcomes[i].Item.Uncertain
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
	in  *Outbox
	ctx context.Context
	tx  engine.Tx
	Sent
	now task.Instant

	sends     []deadletter.Send
	copies    []deadletter.Send
	items     []deadletter.Item
	changed   []*deadletter.Letter
	apart     []*deadletter.Letter
	tally     deadletter.Tally
	decisions *sources.Decisions
}

// RecordSends stores the outcomes of a batch.
func (in *Outbox) RecordSends(ctx context.Context, tx engine.Tx, of Sent) error {
	if err := of.Turn.Holds(ctx, tx); err != nil {
		return err
	}
	r := &record{in: in, ctx: ctx, tx: tx, Sent: of, now: in.Now(), items: of.Decided, decisions: sources.NewDecisions()}
	save, all := r.save, r.all
	if of.Fast {
		save, all = r.saveFast, r.confirmed
	}
	if err := all(of.Outcomes); err != nil {
		return err
	}
	in.observeSends(tx, of.Outcomes)
	rows := in.store
	return errors.Join(save(), rows.AddSends(ctx, tx, r.copies), in.saveItems(ctx, tx, r.items), r.decisions.Store(ctx, tx,
		in.Desk), rows.AddDeltas(ctx, tx, r.tally.Deltas()), in.Tell(ctx, tx, r.decisions.Events(r.now)...))
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

func (r *record) confirmed(outcomes []Outcome) error {
	for i := range outcomes {
		o := &outcomes[i]
		s, l := o.Send, *o.out.Letter // the store may run this again after a conflict
		if err := r.one(o, &s, &l); err != nil {
			return err
		}
	}
	return nil
}

// all records the outcomes. It locks letters before sends, as everywhere.
func (r *record) all(outcomes []Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	ids := make([]task.ID, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].Send.Owner
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
		s, l := byKey[keyOf(&o.Send)], of[o.Send.Owner]
		if s == nil || l == nil || s.State != deadletter.SendInFlight || s.Turn != r.Turn.no {
			continue
		}
		if err := r.one(o, s, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) one(o *Outcome, s *deadletter.Send, l *deadletter.Letter) error {
	over := o.settle(s, r.Once != nil && r.Once(s.About), r.now)
	if s.Died > 0 {
		return r.presumed(o, s)
	}
	i := o.Item
	i.At, i.Uncertain = r.now, s.Copies > 1 || s.Copies == 1 && s.State == deadletter.SendUnknown
	if o.Err != nil && !o.delivered() {
		i.Message = desk.ItemMessage(o.Err)
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
	case errors.Is(o.Err, seam.ErrNotTried): // nothing was charged: the item waits for its turn
		i.State = model.ItemPending
	default:
		i.State = model.ItemFailed
		if s.Copies > 0 {
			i.Message = desk.ItemMessage(fmt.Errorf("it may have arrived, and was not confirmed in %d tries: %w", s.Tries,
				o.Err))
		}
	}
	if over && s.State != deadletter.SendDelivered && current {
		if err := r.open(o, s, l); err != nil {
			return err
		}
	}
	if s.About.IsZero() {
		retried(r.decisions.News, o, over, l)
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
func (r *record) presumed(o *Outcome, s *deadletter.Send) error {
	if s.State == deadletter.SendDelivered {
		r.sends = append(r.sends, *s)
		return nil
	}
	s.GiveUp(desk.ItemMessage(o.Err))
	r.sends = append(r.sends, *s)
	l := o.out.Letter.Apart(r.in.NewID(), s, r.now)
	l.Identity = deadletter.Identify("", l.ID.String(), l.Original)
	if s.About.IsZero() && s.Copies == 0 {
		r.policies.Decide(l, l.Reason, r.now, r.decisions)
	}
	r.tally.Of(l.Group).OpenLetters += letters.Opened(l.State)
	r.apart = append(r.apart, l)
	return nil
}

// open opens a letter whose send failed or has no known outcome. A policy decides again; a try that was not begun costs
// the letter nothing.
func (r *record) open(o *Outcome, s *deadletter.Send, l *deadletter.Letter) error {
	why := desk.ItemMessage(o.Err)
	if s.Copies > 0 {
		why = "it may have arrived: " + why
	}
	if err := l.Unmark(why, s.Copies > 0, r.now); err != nil {
		return err
	}
	if s.About.IsZero() {
		tried := !errors.Is(o.Err, seam.ErrNotTried)
		if tried {
			l.FailedSends++
		}
		r.policies.Decide(l, l.Reason, r.now, r.decisions)
		if l.State == model.LetterScheduled && !tried {
			l.Due = r.now
			if !o.late {
				l.Due = max(l.Due, r.now.Add(untriedPause))
			}
		}
	}
	r.tally.Of(l.Group).OpenLetters += letters.Opened(l.State)
	return nil
}

func (r *record) copy(s *deadletter.Send, l *deadletter.Letter) {
	if p := r.policies.Of(l); p == nil || !p.CopyRetries || !s.About.IsZero() {
		return
	}
	of := *s
	of.Kind, of.State, of.Destination = deadletter.SendCopy, deadletter.SendPlanned, s.Destination+deadletter.CopySuffix
	of.NextAt, of.Tries, of.Copies = r.now, 0, 0
	r.copies = append(r.copies, of)
}

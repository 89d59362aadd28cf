package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SendDue sends all that is due without a redrive: sends of unknown outcome again, letters that policies have
// scheduled, and copies. It must run in one process at a time; another may continue. It returns the number of sends and
// whether more are due. A *due.Error names skipped rows.
func (in *Outbox) SendDue(ctx context.Context) (n int, more bool, err error) {
	defer func() { in.ObserveFailure(desk.ObservedSend, err) }()
	now := in.Now()
	unknown, err := in.dueSends.Read(now, SendBatch, func(limit int) ([]deadletter.Send, error) {
		return in.store.DueSends(ctx, deadletter.SendLetter, now, in.orphans(), limit)
	})
	if err != nil {
		return 0, false, err
	}
	ids, err := in.dueLetters.Read(now, SendBatch, func(limit int) ([]task.ID, error) {
		return in.store.DueLetters(ctx, now, limit)
	})
	if err != nil {
		return 0, false, err
	}
	var stepped error
	if len(unknown)+len(ids) > 0 {
		t, err := in.TakeTurn(ctx, loopDue)
		if err == nil {
			err = in.sendRows(ctx, t, now, ids, unknown)
		}
		if errors.Is(err, desk.ErrTurnLost) {
			return n, false, nil
		}
		if err != nil && !due.OnlyRows(err) {
			return n, false, err
		}
		stepped = err
	}
	copies, err := in.sendCopies(ctx)
	n = len(unknown) + len(ids) + copies
	return n, max(len(unknown), len(ids), copies) == SendBatch, cmp.Or(err, stepped)
}

func (in *Outbox) sendRows(ctx context.Context, t Turn, now task.Instant, ids []task.ID, unknown []deadletter.Send,
) error {
	// Before the sends: a failure between a send and its record would repeat the send.
	policies, err := in.sources.PoliciesOf(ctx, "")
	if err != nil {
		return err
	}
	letters := in.dueLetters.Try(ctx, now, ids, func(ctx context.Context, some []task.ID) error {
		return in.sendScheduled(ctx, t, some, policies)
	})
	if letters != nil && !due.OnlyRows(letters) {
		return letters
	}
	arrived := in.arrived(ctx, unknown) // once, though parts of a failed batch are tried again
	return cmp.Or(in.dueSends.Try(ctx, now, unknown, func(ctx context.Context, some []deadletter.Send) error {
		return in.sendAgain(ctx, t, some, policies, arrived)
	}), letters)
}

// sendScheduled sends letters for their policies, as a batch without a redrive. Policies decide again about letters
// whose send failed; letters that cannot be sent are opened.
func (in *Outbox) sendScheduled(ctx context.Context, t Turn, ids []task.ID, policies sources.Policies) error {
	items := make([]deadletter.Item, len(ids))
	for i, id := range ids {
		items[i] = deadletter.Item{No: i + 1, Kind: model.KindLetter, ID: id}
	}
	b := in.NewBatch(t, &deadletter.Redrive{Operation: model.OpRedrive}, items)
	if err := b.Mark(ctx); err != nil {
		return err
	}
	delivered := in.SendMarked(ctx, b.Sending)
	return in.recording(ctx, in.dueSends, delivered, func(ctx context.Context, outcomes []Outcome) error {
		return in.Settling(outcomes, func(fast bool) error {
			return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
				return in.RecordSends(ctx, tx, Sent{Turn: t, Outcomes: outcomes, policies: policies, Fast: fast})
			})
		})
	})
}

// sendAgain repeats sends without a known outcome under the same number: those without an answer, and those that a
// process left in flight. It skips those that arrived.
func (in *Outbox) sendAgain(ctx context.Context, t Turn, unknown []deadletter.Send, policies sources.Policies,
	arrived map[sendName]int,
) error {
	redrives := map[task.ID]bool{} // true: their items are sent at most once
	for _, s := range unknown {
		if _, known := redrives[s.About]; known || s.About.IsZero() {
			continue
		}
		r, err := in.store.FindRedrive(ctx, s.About)
		if err != nil {
			return err
		}
		redrives[s.About] = r != nil && r.Plan.AtMostOnce
	}
	once := func(id task.ID) bool { return redrives[id] }
	var sending []outgoing
	var settled []Outcome
	if err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) (err error) {
		sending, settled, err = in.markAgain(ctx, tx, t, unknown, arrived, once)
		return err
	}); err != nil {
		return err
	}
	outcomes := append(in.SendMarked(ctx, sending), settled...)
	return in.recording(ctx, in.dueSends, outcomes, func(ctx context.Context, outcomes []Outcome) error {
		return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return in.RecordSends(ctx, tx, Sent{Turn: t, Outcomes: outcomes, policies: policies, Once: once})
		})
	})
}

var errInterrupted = errors.New("its process ended before the outcome was recorded")

func (in *Outbox) markAgain(ctx context.Context, tx engine.Tx, t Turn, due []deadletter.Send,
	arrived map[sendName]int, once func(task.ID) bool,
) (sending []outgoing, settled []Outcome, err error) {
	if err := t.Holds(ctx, tx); err != nil {
		return nil, nil, err
	}
	ids := make([]task.ID, len(due))
	for i, s := range due {
		ids[i] = s.Owner
	}
	letters, _, err := in.store.LettersToSend(ctx, tx, ids, batchBytes)
	if err != nil {
		return nil, nil, err
	}
	of := byID(letters) // letters that do not fit stay due
	sends, err := in.store.SendsOf(ctx, tx, deadletter.SendLetter, ids)
	if err != nil {
		return nil, nil, err
	}
	b := &batch{in: in, sources: map[deadletter.SourceKey]*deadletter.Source{}}
	now, orphans := in.Now(), in.orphans()
	var marked []deadletter.Send
	for i := range sends {
		s, l := &sends[i], of[sends[i].Owner]
		left := s.State == deadletter.SendInFlight && s.At <= orphans
		if l == nil || !left && (s.NextAt == 0 || s.NextAt > now) {
			continue
		}
		presumed := left && s.Died > 0
		overtaken := l.State != model.LetterRedriving || s.No != l.Replays+1 // by an operator, or another send
		if overtaken && !presumed {
			s.GiveUp("the letter is " + string(l.State))
			marked = append(marked, *s)
			continue
		}
		item, err := in.ItemOf(ctx, tx, s)
		if err != nil {
			return nil, nil, err
		}
		source, why, err := b.route(ctx, tx, l, s.Destination)
		if err != nil {
			return nil, nil, err
		}
		again := s.Tries
		s.Mark(t.no, now)
		marked = append(marked, *s)
		ends := func(err error) {
			settled = append(settled, Outcome{outgoing: outgoing{Send: *s, Item: item, out: seam.Outgoing{Letter: l}}, Err: err})
		}
		switch copies := arrived[named(s)]; {
		case copies > 0:
			s.Copies = copies
			ends(errArrived)
		case why != "":
			ends(errors.Join(seam.ErrForGood, errors.New(why)))
		case presumed, left && once(s.About):
			ends(errors.Join(seam.ErrForGood, errInterrupted))
		default:
			sending = append(sending, newOutgoing(*s, item, l, source, now))
			if err := in.reportAgain(ctx, tx, s, again, l); err != nil {
				return nil, nil, err
			}
		}
	}
	return sending, settled, in.store.SaveSends(ctx, tx, marked)
}

func (in *Outbox) reportAgain(ctx context.Context, tx engine.Tx, s *deadletter.Send, tries int, l *deadletter.Letter,
) error {
	if !s.About.IsZero() || tries > 1 { // one act per send
		return nil
	}
	why := s.Error
	if why == "" {
		why = errInterrupted.Error()
	}
	return in.Act(ctx, tx, desk.Act{Kind: "send_letter_again", By: desk.By{Actor: engine.System,
		Reason: "it is sent again under the same number, and may arrive twice: " + why}, Namespace: l.Namespace,
		Of: l.ID.String()})
}

const copyTime = 2 * time.Second

// sendCopies sends copies of letters that policies have sent. Copies are best-effort: each is tried once, and its row
// is deleted first. A destination that does not exist gets none.
func (in *Outbox) sendCopies(ctx context.Context) (n int, err error) {
	due, err := in.store.DueSends(ctx, deadletter.SendCopy, in.Now(), 0, SendBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	owners := make([]task.ID, len(due))
	for i, s := range due {
		owners[i] = s.Owner
	}
	if err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.DropSends(ctx, tx, deadletter.SendCopy, owners)
	}); err != nil {
		return 0, err
	}
	letters, err := in.store.WholeLetters(ctx, desk.SortIDs(owners))
	if err != nil {
		return len(due), err
	}
	of := byID(letters)
	var list []outgoing
	exists := map[Place]bool{}
	for _, s := range due {
		l := of[s.Owner]
		if l == nil || l.Canonical != s.Content {
			continue
		}
		source, err := in.store.FindSource(ctx, s.Namespace, s.Source)
		if err != nil {
			return len(due), err
		}
		if source == nil || in.carriers[source.Driver] == nil {
			continue
		}
		at := Place{source.Key(), s.Destination}
		if _, asked := exists[at]; !asked {
			bounded, cancel := context.WithTimeout(ctx, copyTime)
			is, err := in.carriers[source.Driver].Exists(bounded, source, s.Destination)
			exists[at] = is && err == nil
			cancel()
		}
		if exists[at] {
			list = append(list, newOutgoing(s, deadletter.Item{}, l, source, in.Now()))
		}
	}
	in.SendMarked(ctx, list)
	return len(due), nil
}

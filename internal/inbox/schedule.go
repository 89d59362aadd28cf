package inbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// SendDue sends letters back that a policy has scheduled and that are due. It must run in one process at a time;
// another may go on where this one stopped. It returns how many were sent, and whether more are due.
//
// It first sends again what a process left marked when it ended (marked), then what is due. Such letters may be sent
// twice, under the same ID.
func (in *Inbox) SendDue(ctx context.Context) (n int, more bool, err error) {
	defer func() { in.observeFailure(observedSend, err) }()
	for _, marked := range []bool{true, false} {
		until := in.now()
		if marked {
			until = in.orphans()
		}
		ids, err := in.store.DueLetters(ctx, until, marked, sendBatch)
		if err != nil {
			return n, false, err
		}
		if len(ids) == 0 {
			continue
		}
		if err := in.sendLetters(ctx, ids, marked); err != nil {
			return n, false, err
		}
		n += len(ids)
		more = more || len(ids) == sendBatch
	}
	return n, more, nil
}

// untriedPause is how long a letter waits at least that was not tried. It is longer than a circuit breaker is open.
const untriedPause = 15 * time.Second

// sendLetters sends letters for their policies, as a batch without a redrive: nothing is stored for the items. Policies
// decide again about letters whose send has failed; one that was not tried costs no retry. Letters that cannot be sent
// are opened in the transaction that records the others.
func (in *Inbox) sendLetters(ctx context.Context, ids []task.ID, again bool) error {
	// Before the send: what fails between a send and its record makes the next process send again.
	policies, err := in.policiesOf(ctx, "")
	if err != nil {
		return err
	}
	b := &batch{runner: &runner{in: in, redrive: &deadletter.Redrive{Operation: deadletter.OpRedrive}}, again: again}
	for i, id := range ids {
		b.items = append(b.items, deadletter.Item{No: i + 1, Kind: deadletter.KindLetter, ID: id, Uncertain: again})
	}
	if err := b.mark(ctx); err != nil {
		return err
	}
	if again { // before the send: this process may end during it, too
		if err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			for _, o := range b.sending {
				if err := in.reportAgain(ctx, tx, o, "a process ended between the send and its record"); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	results := b.send(ctx)
	if err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		now, made := in.now(), newDecisions()
		for _, r := range results {
			if r.letter != nil {
				made.news.add(deadletter.EventRetried, r.letter, retryError(r))
			}
		}
		if err := in.recordSends(ctx, tx, results, now, func(l *deadletter.Letter, err error) {
			tried := !errors.Is(err, ErrNotTried)
			if tried {
				l.FailedSends++
			}
			in.decide(policies, l, l.Reason, now, made)
			if !tried && l.State == deadletter.Scheduled {
				l.Due = max(l.Due, now.Add(untriedPause))
			}
		}); err != nil {
			return err
		}
		if err := made.store(ctx, tx, in); err != nil {
			return err
		}
		unclear := map[task.ID]string{} // why the broker's answer left the outcome open
		for _, r := range results {
			if r.item.Uncertain && r.item.State == deadletter.ItemSent {
				unclear[r.item.ID] = r.item.Message
			}
		}
		for _, o := range b.sending {
			if why := unclear[o.item.ID]; why != "" {
				if err := in.reportAgain(ctx, tx, o, why); err != nil {
					return err
				}
			}
		}
		if err := in.leave(ctx, tx, results); err != nil {
			return err
		}
		return in.tell(ctx, tx, made.events(now)...)
	}); err != nil {
		return err
	}
	in.copyRetries(ctx, b, results, policies)
	return nil
}

// retryError is why a send failed, "" if it did not.
func retryError(r result) string {
	if r.err == nil {
		return ""
	}
	return cmp.Or(r.item.Message, "the send failed")
}

// reportAgain records in the audit trail that a letter may be sent twice: a policy's sends have no items.
func (in *Inbox) reportAgain(ctx context.Context, tx engine.Tx, o outgoing, why string) error {
	l := o.out.Letter
	return in.act(ctx, tx, act{kind: "send_letter_again", by: By{Actor: engine.System,
		Reason: "it may be sent twice: " + why}, namespace: l.Namespace, of: l.ID.String()})
}

// leave opens scheduled letters that cannot be sent, so that an operator sees them and no policy tries for ever.
func (in *Inbox) leave(ctx context.Context, tx engine.Tx, results []result) error {
	why := map[task.ID]string{}
	var ids []task.ID
	for _, r := range results {
		// Not marked: it was decided without being sent.
		if r.letter == nil {
			why[r.item.ID] = r.item.Message
			ids = append(ids, r.item.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	letters, err := in.store.Letters(ctx, tx, sortIDs(ids))
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.State == deadletter.Scheduled {
			if err := l.Unschedule(why[l.ID], in.now()); err != nil {
				return err
			}
		}
	}
	return in.store.SaveLetters(ctx, tx, letters)
}

package inbox

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// sortIDs sorts IDs in place and removes repetitions. Transactions lock letters in this order and so never deadlock.
func sortIDs(ids []task.ID) []task.ID {
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

func compareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

func idsOf(items []deadletter.Item) []task.ID {
	ids := make([]task.ID, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	return ids
}

// changeStates changes letters, which read locks, and stores changed states with the counts of their groups.
func (in *Inbox) changeStates(ctx context.Context, tx engine.Tx,
	read func(context.Context, engine.Tx, []task.ID) ([]*deadletter.Letter, error), ids []task.ID,
	change func(*deadletter.Letter) error,
) (changedLetters, error) {
	var changed changedLetters
	letters, err := read(ctx, tx, sortIDs(ids))
	if err != nil {
		return changed, err
	}
	for _, l := range letters {
		was := l.State
		if err := change(l); err != nil {
			return changed, err
		}
		if l.State != was {
			changed.add(l, was)
		}
	}
	return changed, changed.save(ctx, tx, in)
}

func (c *changedLetters) events(now task.Instant) []deadletter.Event {
	news := letterNews{}
	for _, l := range c.list {
		news.discarded(l)
	}
	return news.events(now)
}

func (r *runner) inWave(items []deadletter.Item) (letters, cases []deadletter.Item) {
	for _, i := range items {
		i.Wave = r.redrive.Wave
		if i.Kind == model.KindLetter {
			letters = append(letters, i)
		} else {
			cases = append(cases, i)
		}
	}
	return letters, cases
}

// change discards or restores the next items of a redrive: letters in one transaction, cases one by one. It needs no
// mark, as nothing leaves the database.
func (r *runner) change(ctx context.Context, items []deadletter.Item) error {
	letters, cases := r.inWave(items)
	if err := r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		// record below only counts what is stored here.
		return r.changeLetters(ctx, tx, letters)
	}); err != nil || !r.redrive.State.Active() {
		return err
	}
	done, left, err := r.onCases(ctx, cases, r.discardCase)
	return errors.Join(err, r.record(ctx, nil, done, behind(items, left)))
}

// changeLetters skips a letter that changed since the freeze.
func (r *runner) changeLetters(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	now, err := r.reload(ctx, tx)
	if err != nil || !r.redrive.State.Active() {
		return err
	}
	if len(items) == 0 {
		return nil
	}
	skipped := map[task.ID]string{} // "": it is changed
	changed, err := r.in.changeStates(ctx, tx, r.in.store.BareLetters, idsOf(items), func(l *deadletter.Letter) error {
		var err error
		if r.redrive.Operation == model.OpRestore {
			err = l.Restore(now)
		} else {
			err = l.Discard(r.redrive.Reason, now, deadletter.Retention)
		}
		if skipped[l.ID] = ""; err != nil {
			skipped[l.ID] = itemMessage(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	decided := slices.Clone(items)
	for n := range decided {
		i := &decided[n]
		why, found := skipped[i.ID]
		if i.At, i.State = now, model.ItemCompleted; !found {
			why = "it has been deleted"
		}
		if why != "" {
			i.State, i.Message = model.ItemSkipped, why
		}
	}
	return errors.Join(r.in.store.SaveItems(ctx, tx, decided), r.in.tell(ctx, tx, changed.events(now)...))
}

package redrive

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
	if err := r.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
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
	changed, err := r.in.letters.ChangeStates(ctx, tx, r.in.store.BareLetters, outbox.IDsOf(items),
		func(l *deadletter.Letter) error {
			var err error
			if r.redrive.Operation == model.OpRestore {
				err = l.Restore(now)
			} else {
				err = l.Discard(r.redrive.Reason, now, deadletter.Retention)
			}
			if skipped[l.ID] = ""; err != nil {
				skipped[l.ID] = desk.ItemMessage(err)
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
	return errors.Join(r.in.store.SaveItems(ctx, tx, decided), r.in.Tell(ctx, tx, changed.Events(now)...))
}

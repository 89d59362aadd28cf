package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// sortIDs sorts IDs in place and removes repeated ones. Letters are locked in the order of their IDs, so that two
// transactions that lock the same letters wait for each other and never deadlock.
func sortIDs(ids []task.ID) []task.ID {
	slices.SortFunc(ids, func(a, b task.ID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// change discards or restores the next items of a redrive: letters in one transaction, and cases one by one, each in
// its own. No mark is needed: nothing leaves the database, so there is nothing uncertain.
func (r *runner) change(ctx context.Context, items []deadletter.Item) error {
	var cases []deadletter.Item
	for i := range items {
		items[i].Wave = r.redrive.Wave
		if !isLetter(items[i]) {
			cases = append(cases, items[i])
		}
	}
	if err := r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		// Letters and their items are stored here; record below only counts them.
		return r.changeLetters(ctx, tx, items)
	}); err != nil || !r.redrive.State.Active() {
		return err
	}
	done, left, err := r.onCases(ctx, cases, r.discardCase)
	return errors.Join(err, r.record(ctx, nil, done, behind(items, left)))
}

// changeLetters discards or restores letters, and stores what became of their items.
func (r *runner) changeLetters(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	if _, err := r.reload(ctx, tx); err != nil || !r.redrive.State.Active() {
		return err // paused or cancelled in the meantime
	}
	var ids []task.ID
	for _, i := range items {
		if isLetter(i) {
			ids = append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	letters, err := r.in.store.BareLetters(ctx, tx, sortIDs(ids))
	if err != nil {
		return err
	}
	of := byID(letters)
	news := letterNews{}
	var decided []deadletter.Item
	var changed changedLetters
	for _, i := range items {
		if !isLetter(i) {
			continue
		}
		i.At, i.State = r.in.now(), model.ItemCompleted
		l := of[i.ID]
		if l == nil {
			i.State, i.Message = model.ItemSkipped, "it has been deleted"
			decided = append(decided, i)
			continue
		}
		was := l.State
		if err := r.changeLetter(l); err != nil {
			i.State, i.Message = model.ItemSkipped, itemMessage(err)
		} else {
			changed.add(l, was)
			news.discarded(l)
		}
		decided = append(decided, i)
	}
	if err := changed.save(ctx, tx, r.in); err != nil {
		return err
	}
	if err := r.in.store.SaveItems(ctx, tx, decided); err != nil {
		return err
	}
	return r.in.tell(ctx, tx, news.events(r.in.now())...)
}

func isLetter(i deadletter.Item) bool { return i.Kind == model.KindLetter }

// changeLetter applies the operation to one letter, or refuses with WrongState if the letter has changed since the
// freeze.
func (r *runner) changeLetter(l *deadletter.Letter) error {
	if r.redrive.Operation == model.OpRestore {
		return l.Restore(r.in.now())
	}
	return l.Discard(r.redrive.Reason, r.in.now(), deadletter.Retention)
}

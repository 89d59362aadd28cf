package inbox

import (
	"context"
	"errors"
	"slices"

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

// change discards or restores the next items of a redrive: letters in one transaction, and cases one by one, because
// each case has a transaction of the engine. No mark is needed: nothing leaves the database, so there is nothing
// uncertain.
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
	results, left, err := r.onCases(ctx, cases, r.discardCase)
	return errors.Join(err, r.record(ctx, results, behind(items, left)))
}

// changeLetters discards or restores letters, and stores what became of their items.
func (r *runner) changeLetters(ctx context.Context, tx engine.Tx, items []deadletter.Item) error {
	if _, err := r.reload(ctx, tx); err != nil || !r.redrive.State.Active() {
		return err // paused or cancelled in the meantime
	}
	of, err := r.in.lettersOf(ctx, tx, items)
	if err != nil || !slices.ContainsFunc(items, isLetter) {
		return err
	}
	deltas := map[deadletter.GroupID]*deadletter.Delta{}
	var decided []deadletter.Item
	var changed []*deadletter.Letter
	for _, i := range items {
		if !isLetter(i) {
			continue
		}
		i.At, i.State = r.in.now(), deadletter.ItemCompleted
		l := of[i.ID]
		if l == nil {
			i.State, i.Message = deadletter.ItemSkipped, "it has been deleted"
			decided = append(decided, i)
			continue
		}
		was := l.State
		if err := r.changeLetter(l); err != nil {
			i.State, i.Message = deadletter.ItemSkipped, itemMessage(err)
		} else {
			changed = append(changed, l)
			addOpen(deltas, l.Group, opened(l.State)-opened(was))
		}
		decided = append(decided, i)
	}
	if err := r.in.store.SaveLetters(ctx, tx, changed); err != nil {
		return err
	}
	if err := r.in.store.AddDeltas(ctx, tx, sortedDeltas(deltas)); err != nil {
		return err
	}
	return r.in.store.SaveItems(ctx, tx, decided)
}

// isLetter reports whether an item is a letter; any other is a case.
func isLetter(i deadletter.Item) bool { return i.Kind == deadletter.KindLetter }

// changeLetter applies the operation to one letter, or refuses with WrongState if the letter has changed since the
// freeze.
func (r *runner) changeLetter(l *deadletter.Letter) error {
	if r.redrive.Operation == deadletter.OpRestore {
		return l.Restore(r.in.now())
	}
	return l.Discard(r.redrive.Reason, r.in.now(), deadletter.Retention)
}

// discardCase cancels the task of a case. The case stays as the record of the failure, with its notes.
func (r *runner) discardCase(ctx context.Context, i deadletter.Item) deadletter.Item {
	return r.onCase(ctx, i, deadletter.ItemCompleted, func(c *task.Case) error {
		receipts, err := r.in.tasks.Cancel(ctx, []task.ID{c.TaskID},
			engine.Cancellation{Actor: r.redrive.Actor, Reason: r.reason()})
		if err == nil && len(receipts) == 1 {
			err = receipts[0].Err
		}
		return err
	})
}

// replay runs the failed steps of the task of a case again, with an edited context if the redrive edits.
//
// A crash must not replay a task twice. Without an edit the item is stored in the transaction of the replay. An edit is
// a verb of its own with its own transaction; the engine refuses to edit a task that is not in error, so a repeated
// edit of a task that runs is skipped.
func (r *runner) replay(ctx context.Context, i deadletter.Item) deadletter.Item {
	return r.onCase(ctx, i, deadletter.ItemSent, func(c *task.Case) error {
		if r.redrive.Edit != nil {
			_, err := r.in.tasks.EditContext(ctx, c.TaskID, engine.ContextEdit{Merge: r.redrive.Edit.Patch,
				Actor: r.redrive.Actor, Reason: r.reason(), Replay: true, ResetAttempts: true})
			return err
		}
		return r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			_, err := r.in.tasks.ReplayIn(ctx, tx, c.TaskID, engine.Replay{Actor: r.redrive.Actor, Reason: r.reason(),
				ResetAttempts: true})
			if err != nil {
				return err
			}
			i.At, i.State = r.in.now(), deadletter.ItemSent // with the replay, so that a crash cannot repeat it
			return r.in.store.SaveItems(ctx, tx, []deadletter.Item{i})
		})
	})
}

// reason is the reason of what a redrive does to tasks.
func (r *runner) reason() string { return "redrive " + r.redrive.ID.String() + ": " + r.redrive.Reason }

// onCase acts on a case and returns its item with the result. A case that has changed since the freeze is skipped:
// resolved, deleted, or with a task that is not in error any more. Any other error fails the item and not the redrive.
func (r *runner) onCase(ctx context.Context, i deadletter.Item, done deadletter.ItemState,
	act func(*task.Case) error,
) deadletter.Item {
	i.At, i.State = r.in.now(), done
	c, err := r.in.tasks.Case(ctx, i.ID)
	if err == nil && c.Status != task.CasePending {
		i.State, i.Message = deadletter.ItemSkipped, "its case is "+string(c.Status)
		return i
	}
	if err == nil {
		err = act(c)
	}
	switch task.CodeOf(err) {
	case "":
	case task.NotFound, task.WrongState, task.Conflict:
		i.State, i.Message = deadletter.ItemSkipped, itemMessage(err)
	default:
		i.State, i.Message = deadletter.ItemFailed, itemMessage(err)
	}
	return i
}

package redrive

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

var errStopped = errors.New("the redrive was paused or cancelled")

// onCases acts on pending cases one by one until an operator pauses or cancels the redrive. It returns results that are
// not stored yet, and the remaining items.
func (r *runner) onCases(ctx context.Context, cases []deadletter.Item,
	do func(context.Context, deadletter.Item, task.ID) error,
) (done, left []deadletter.Item, err error) {
	for n, i := range cases {
		c, err := r.in.Tasks.Case(ctx, i.ID)
		switch {
		case err != nil:
		case c.Status != task.CasePending: // changed since the freeze
			err = task.Errorf(task.WrongState, "its case is %s", c.Status)
		default:
			err = do(ctx, i, c.TaskID)
		}
		switch code := task.CodeOf(err); {
		case err == nil:
			continue
		case errors.Is(err, errStopped):
			return done, cases[n:], nil
		case ctx.Err() != nil: // probably the error of the interruption
			return done, cases[n:], ctx.Err()
		case code == task.NotFound, code == task.WrongState, code == task.Conflict:
			i.State = model.ItemSkipped
		default:
			i.State = model.ItemFailed
		}
		i.At, i.Message = r.in.Now(), desk.ItemMessage(err)
		done = append(done, i)
	}
	return done, nil, nil
}

func (r *runner) discardCase(ctx context.Context, i deadletter.Item, of task.ID) error {
	return r.onCase(ctx, i, model.ItemCompleted, func(ctx context.Context, tx engine.Tx) error {
		receipts, err := r.in.Tasks.CancelIn(ctx, tx, []task.ID{of},
			engine.Cancellation{Actor: r.redrive.Actor, Reason: reasonOf(r.redrive)})
		if err == nil && len(receipts) == 1 {
			err = receipts[0].Err
		}
		return err
	})
}

func (r *runner) replay(ctx context.Context, i deadletter.Item, of task.ID) error {
	if r.redrive.Edit != nil {
		_, err := r.in.Tasks.EditContextWithin(ctx, of, engine.ContextEdit{Merge: r.redrive.Edit.Patch,
			Actor: r.redrive.Actor, Reason: reasonOf(r.redrive), Replay: true, ResetAttempts: true},
			func(edit func(context.Context, engine.Tx) error) error {
				return r.onCase(ctx, i, model.ItemSent, edit)
			})
		return err
	}
	return r.onCase(ctx, i, model.ItemSent, func(ctx context.Context, tx engine.Tx) error {
		_, err := r.in.Tasks.ReplayIn(ctx, tx, of, engine.Replay{Actor: r.redrive.Actor, Reason: reasonOf(r.redrive),
			ResetAttempts: !r.redrive.Plan.KeepAttempts, Priority: r.redrive.Plan.Priority})
		return err
	})
}

// onCase acts on a case and stores the result in one transaction: a crash can neither repeat the act nor lose the
// result. It does nothing for a redrive that is paused or cancelled.
func (r *runner) onCase(ctx context.Context, i deadletter.Item, done model.ItemState,
	act func(context.Context, engine.Tx) error,
) error {
	return r.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		now, err := r.reload(ctx, tx)
		if err != nil {
			return err
		}
		if !r.redrive.State.Active() {
			return errStopped
		}
		if err := act(ctx, tx); err != nil {
			return err
		}
		i.At, i.State = now, done
		return r.in.store.SaveItems(ctx, tx, []deadletter.Item{i})
	})
}

func reasonOf(r *deadletter.Redrive) string { return "redrive " + r.ID.String() + ": " + r.Reason }

const watchPage = 1000

// CaseItem is an item of a case whose task was replayed.
type CaseItem struct {
	deadletter.Item
	Status task.Resolution // "": the case was deleted
	Group  deadletter.GroupID
	Task   task.State // "": the task was deleted
	Since  task.Instant
}

func (i *CaseItem) became(now task.Instant) (deadletter.Item, bool) {
	item := i.Item
	item.At = now
	switch {
	case i.Status == "":
		item.State, item.Message = model.ItemCompleted, "its case has been deleted"
	case i.Task == "" || i.Task.Terminal():
		item.State = model.ItemCompleted
	case i.Task == task.Errored && i.Since > i.Item.At:
		item.State, item.Group = model.ItemReturned, i.Group
	default:
		return item, false
	}
	return item, true
}

// watchCases records the results of replayed tasks, page by page, also of redrives that have ended. It begins anew in
// each process.
func (in *Redriver) watchCases(ctx context.Context) error {
	items, err := in.store.SentCases(ctx, in.watched, 0, watchPage)
	if err != nil {
		return err
	}
	in.watched = deadletter.Item{}
	if len(items) == watchPage {
		in.watched = items[watchPage-1].Item
	}
	_, err = in.settleCases(ctx, items)
	return err
}

func (r *runner) watchWave(ctx context.Context) (changed bool, err error) {
	for from := (deadletter.Item{Redrive: r.redrive.ID}); ; {
		items, err := r.in.store.SentCases(ctx, from, r.redrive.Wave, watchPage)
		if err != nil {
			return changed, err
		}
		n, err := r.in.settleCases(ctx, items)
		if changed = changed || n > 0; err != nil || len(items) < watchPage {
			return changed, err
		}
		from = items[watchPage-1].Item
	}
}

// settleCases stores the results of items whose tasks have ended, and resolves the cases of completed tasks, in one
// transaction. It returns the number of results.
func (in *Redriver) settleCases(ctx context.Context, items []CaseItem) (int, error) {
	var ended []deadletter.Item
	var solved []CaseItem
	for _, i := range items {
		if item, ok := i.became(in.Now()); ok {
			ended = append(ended, item)
			if item.State == model.ItemCompleted && i.Status == task.CasePending {
				solved = append(solved, i)
			}
		}
	}
	if len(ended) == 0 {
		return 0, nil
	}
	redrives := map[task.ID]*deadletter.Redrive{}
	for _, i := range solved {
		var err error
		if redrives[i.Redrive] == nil {
			redrives[i.Redrive], err = in.store.FindRedrive(ctx, i.Redrive)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ended), in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		for _, i := range solved {
			if err := in.resolveCase(ctx, tx, redrives[i.Redrive], i.ID); err != nil {
				return err
			}
		}
		return in.store.SaveItems(ctx, tx, ended)
	})
}

func (in *Redriver) resolveCase(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, id task.ID) error {
	if r == nil {
		return nil
	}
	note := reasonOf(r)
	_, err := in.Tasks.UpdateCaseIn(ctx, tx, id, task.CaseChange{Status: task.CaseResolved, Actor: r.Actor, Notes: &note})
	switch task.CodeOf(err) {
	case task.Conflict, task.WrongState, task.NotFound: // an operator was faster
		return nil
	}
	return err
}

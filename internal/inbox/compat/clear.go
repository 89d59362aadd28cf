package compat

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// per transaction, and per request
	clearBatch, maxCleared = 500, 100_000
	clearTime              = 20 * time.Second
	clearedFrom            = "cleared from "
)

// Cleared is the result of ClearQueue or RestoreQueue.
type Cleared struct {
	Letters int
	At      task.Instant // when the letters were discarded, which identifies the clearing; 0: all clearings
	More    bool
}

// ClearQueue discards the letters of a queue, 100,000 at most, with a reason by which RestoreQueue finds them. It skips
// letters that are being sent back or arrive meanwhile. It commits batch by batch: an error does not undo the batches
// before.
func (in *Views) ClearQueue(ctx context.Context, q *Queue, by desk.By) (Cleared, error) {
	by, err := desk.Signed(ctx, by)
	if err != nil {
		return Cleared{}, err
	}
	lost := in.catchUp(ctx, q.Source)
	last := in.NewID() // letters captured from now on have a greater ID
	at := in.Now()
	reason := clearedFrom + q.Name + ": " + by.Reason
	c, err := in.changeQueue(ctx, q.filter(inQueue...), last, desk.Act{Kind: "clear_queue", By: by,
		To: string(model.LetterDiscarded)},
		func(l *deadletter.Letter) error { return l.Discard(reason, at, deadletter.Retention) })
	c.At = at
	if err == nil && c.Letters == 0 {
		err = lost
	}
	return c, err
}

// RestoreQueue opens letters again that ClearQueue discarded and that are not purged: those of the clearing at a time,
// or of all (0).
func (in *Views) RestoreQueue(ctx context.Context, q *Queue, at task.Instant, by desk.By) (Cleared, error) {
	by, err := desk.Signed(ctx, by)
	if err != nil {
		return Cleared{}, err
	}
	now, f := in.Now(), q.filter(model.LetterDiscarded)
	f.Reason, f.At = clearedFrom+q.Name+": ", at
	c, err := in.changeQueue(ctx, f, in.NewID(), desk.Act{Kind: "restore_queue", By: by,
		From: string(model.LetterDiscarded), To: string(model.LetterOpen)},
		func(l *deadletter.Letter) error { return l.Restore(now) })
	c.At = at
	return c, err
}

func (in *Views) changeQueue(ctx context.Context, f QueueFilter, last task.ID, a desk.Act,
	change func(*deadletter.Letter) error,
) (c Cleared, err error) {
	f.Limit, a.Namespace, a.Of = clearBatch, f.Namespace, f.Source
	for begun := time.Now(); ; {
		ids, err := in.store.OldestLetters(ctx, f)
		if err != nil {
			return c, err
		}
		ids = slices.DeleteFunc(ids, func(id task.ID) bool { return desk.CompareIDs(id, last) > 0 })
		if len(ids) == 0 {
			return c, nil
		}
		if c.Letters >= maxCleared || time.Since(begun) > clearTime {
			c.More = true
			return c, nil
		}
		f.Above = ids[len(ids)-1]
		n := 0
		if err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			changed, err := in.letters.ChangeStates(ctx, tx, in.store.BareLetters, ids, func(l *deadletter.Letter) error {
				if !slices.Contains(f.States, l.State) {
					return nil
				}
				return change(l)
			})
			if n = len(changed.List); err != nil || n == 0 {
				return err
			}
			of := sources.DecidedLetters{}
			for _, l := range changed.List {
				of.Count(l)
			}
			a.Data = &of
			return errors.Join(in.Act(ctx, tx, a), in.Tell(ctx, tx, changed.Events(in.Now())...))
		}); err != nil {
			return c, err
		}
		c.Letters += n
	}
}

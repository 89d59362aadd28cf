package inbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// clearBatch bounds the letters that are changed in one transaction, and maxCleared those of one request.
	clearBatch, maxCleared = 500, 100_000
	// clearTime bounds how long a request changes letters.
	clearTime = 20 * time.Second
	// clearedFrom begins the reason of a letter that was discarded by the clearing of its queue.
	clearedFrom = "cleared from "
)

// Cleared is what became of clearing a queue, or of taking that back.
type Cleared struct {
	Letters int
	At      task.Instant // identifies the clearing, by the time at which its letters were discarded. 0: of all clearings
	More    bool         // the request has reached its bounds of letters or time, and some are left
}

// ClearQueue discards the letters that are in a queue, 100,000 at most, with a reason by which RestoreQueue finds them.
// Letters that are being sent back are left alone, as are those that arrive in the meantime. It commits batch by batch:
// after an error, what was discarded until then stays so.
func (in *Inbox) ClearQueue(ctx context.Context, q *Queue, by By) (Cleared, error) {
	by, err := signed(ctx, by)
	if err != nil {
		return Cleared{}, err
	}
	lost := in.catchUp(ctx, q.Source)
	last := in.newID() // what is captured from now on has a greater ID
	at := in.now()
	reason := clearedFrom + q.Name + ": " + by.Reason
	c, err := in.changeQueue(ctx, q.filter(inQueue...), last, act{kind: "clear_queue", by: by,
		to: string(model.LetterDiscarded)},
		func(l *deadletter.Letter) error { return l.Discard(reason, at, deadletter.Retention) })
	c.At = at
	if err == nil && c.Letters == 0 {
		err = lost
	}
	return c, err
}

// RestoreQueue opens the letters of a queue again that ClearQueue has discarded and that are not purged: those of the
// clearing at a time, or of all (0).
func (in *Inbox) RestoreQueue(ctx context.Context, q *Queue, at task.Instant, by By) (Cleared, error) {
	by, err := signed(ctx, by)
	if err != nil {
		return Cleared{}, err
	}
	now, f := in.now(), q.filter(model.LetterDiscarded)
	f.Reason, f.At = clearedFrom+q.Name+": ", at
	c, err := in.changeQueue(ctx, f, in.newID(), act{kind: "restore_queue", by: by,
		from: string(model.LetterDiscarded), to: string(model.LetterOpen)},
		func(l *deadletter.Letter) error { return l.Restore(now) })
	c.At = at
	return c, err
}

// changeQueue changes the letters that a filter selects up to an ID, batch by batch, each with an act in its
// transaction.
func (in *Inbox) changeQueue(ctx context.Context, f QueueFilter, last task.ID, a act,
	change func(*deadletter.Letter) error,
) (c Cleared, err error) {
	f.Limit, a.namespace, a.of = clearBatch, f.Namespace, f.Source
	for begun := time.Now(); ; {
		ids, err := in.store.OldestLetters(ctx, f)
		if err != nil {
			return c, err
		}
		ids = slices.DeleteFunc(ids, func(id task.ID) bool { return compareIDs(id, last) > 0 })
		if len(ids) == 0 {
			return c, nil
		}
		if c.Letters >= maxCleared || time.Since(begun) > clearTime {
			c.More = true
			return c, nil
		}
		f.Above = ids[len(ids)-1]
		n := 0
		if err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			changed, err := in.changeStates(ctx, tx, in.store.BareLetters, ids, func(l *deadletter.Letter) error {
				if !slices.Contains(f.States, l.State) {
					return nil // others were faster
				}
				return change(l)
			})
			if n = len(changed.list); err != nil || n == 0 {
				return err
			}
			of := decidedLetters{}
			for _, l := range changed.list {
				of.count(l)
			}
			a.data = &of
			return errors.Join(in.act(ctx, tx, a), in.tell(ctx, tx, changed.events(in.now())...))
		}); err != nil {
			return c, err
		}
		c.Letters += n
	}
}

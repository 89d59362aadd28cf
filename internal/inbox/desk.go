package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// now is the store's time, the same for all nodes.
func (in *Inbox) now() task.Instant { return in.tasks.Now() }

func (in *Inbox) newID() task.ID { return in.db.IDs().Take(in.now().Time(), 1) }

func (in *Inbox) newIDs(n int) func(no int) task.ID {
	ids := in.db.IDs()
	first := ids.Take(in.now().Time(), n).Seq()
	return func(no int) task.ID { return ids.ID(first + int64(no)) }
}

func onConflict(runs int, fn func(run int) error) (err error) {
	for run := range runs {
		if err = fn(run); task.CodeOf(err) != task.Conflict {
			break
		}
	}
	return err
}

func (in *Inbox) page(ctx context.Context, limit int, namespace *string) error {
	err := in.limit(limit)
	if err == nil {
		*namespace, err = narrow(ctx, *namespace)
	}
	return err
}

func (in *Inbox) limit(n int) error {
	if n < 1 || n > in.opts.PageItems {
		return task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", in.opts.PageItems, n)
	}
	return nil
}

func (in *Inbox) sizeFault(size int) string {
	if size <= in.opts.LetterBytes {
		return ""
	}
	return fmt.Sprintf("has %d bytes; a letter may have %d (engine.limits.letter_bytes)", size, in.opts.LetterBytes)
}

func atMost(n, bound int) (int, bool) { return min(n, bound), n > bound }

func atOnce[T, R any](list []T, many int, do func(T) R) []R {
	results, room := make([]R, len(list)), make(chan struct{}, many)
	var all sync.WaitGroup
	for i, entry := range list {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			results[i] = do(entry)
		})
	}
	all.Wait()
	return results
}

// sortIDs sorts IDs in place and removes repetitions. Transactions lock letters in this order and so never deadlock.
func sortIDs(ids []task.ID) []task.ID {
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

func compareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

// itemMessage is why an item was not sent, cut to 500 characters, as each item has one.
func itemMessage(err error) string { return fmt.Sprintf("%.500s", err.Error()) }

// maxName bounds a name, in bytes.
const maxName = 255

// turnTime is about how long a loop advances one object before the next.
const turnTime = time.Second

var errTurnLost = errors.New("another process has the turn")

// rowsOf reports a row that failed alone as faulty, if this process has its turn and the database can store anything.
func rowsOf[T any, K comparable](db Database, what string, key func(T) K) *due.Rows[T, K] {
	return due.New(what, key, func(ctx context.Context, _ T, _ task.Instant, why error) error {
		if errors.Is(why, errTurnLost) {
			return why
		}
		return engine.Storable(ctx, db, why)
	})
}

// Package desk is what the rooms of the inbox share, and the lowest of them: who acts and what a key reaches, acts for
// the audit trail, versions, refusals, time and IDs, events of changes and what observers count.
package desk

import (
	"bytes"
	"cmp"
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

// Database is a database of the engine. A case and its group are stored in one transaction.
type Database interface {
	engine.Writer
	// IDs makes IDs of new rows, which grow with time.
	IDs() *task.Source
	ActStore() engine.ActStore
	NoteStore() engine.NoteStore
}

// Desk is what the rooms of the inbox share. Its fields do not change once the rooms are in use.
type Desk struct {
	DB       Database
	Tasks    *engine.Engine
	Observer Observer
	Hooks    engine.EventHooks // stores the events that webhooks receive
	// LetterBytes bounds the key, headers and payload of a letter, and PageItems a page.
	LetterBytes, PageItems int
	// Alone: no other process shares the database, so anything under way before Begun is abandoned.
	Alone bool
	Begun task.Instant
}

// New returns a Desk without Hooks. Without an Observer nothing is counted.
func New(db Database, tasks *engine.Engine, observer Observer, letterBytes, pageItems int) *Desk {
	if observer == nil {
		observer = unobserved{}
	}
	_, shared := db.(engine.Cluster)
	return &Desk{DB: db, Tasks: tasks, Observer: observer, LetterBytes: cmp.Or(letterBytes, 16<<20),
		PageItems: cmp.Or(pageItems, 1000), Alone: !shared, Begun: tasks.Now()}
}

// Now is the store's time, the same for all nodes.
func (in *Desk) Now() task.Instant { return in.Tasks.Now() }

// NewID returns the ID of a new row.
func (in *Desk) NewID() task.ID { return in.DB.IDs().Take(in.Now().Time(), 1) }

// NewIDs returns n IDs of new rows, by number.
func (in *Desk) NewIDs(n int) func(no int) task.ID {
	ids := in.DB.IDs()
	first := ids.Take(in.Now().Time(), n).Seq()
	return func(no int) task.ID { return ids.ID(first + int64(no)) }
}

// OnConflict runs fn again while it returns a Conflict, a bounded number of times.
func OnConflict(runs int, fn func(run int) error) (err error) {
	for run := range runs {
		if err = fn(run); task.CodeOf(err) != task.Conflict {
			break
		}
	}
	return err
}

// Page checks the limit of a page, and narrows the namespace.
func (in *Desk) Page(ctx context.Context, limit int, namespace *string) error {
	err := in.Limit(limit)
	if err == nil {
		*namespace, err = Narrow(ctx, *namespace)
	}
	return err
}

// Limit refuses a limit of a page beyond PageItems.
func (in *Desk) Limit(n int) error {
	if n < 1 || n > in.PageItems {
		return task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", in.PageItems, n)
	}
	return nil
}

// SizeFault is why a message of so many bytes can be no letter; "" if it can.
func (in *Desk) SizeFault(size int) string {
	if size <= in.LetterBytes {
		return ""
	}
	return fmt.Sprintf("has %d bytes; a letter may have %d (engine.limits.letter_bytes)", size, in.LetterBytes)
}

// AtMost bounds a count, and reports whether it is greater.
func AtMost(n, bound int) (int, bool) { return min(n, bound), n > bound }

// AtOnce runs do for each entry of a list, many at a time, and returns the results in order.
func AtOnce[T, R any](list []T, many int, do func(T) R) []R {
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

// SortIDs sorts IDs in place and removes repetitions. Transactions lock letters in this order and so never deadlock.
func SortIDs(ids []task.ID) []task.ID {
	slices.SortFunc(ids, CompareIDs)
	return slices.Compact(ids)
}

// CompareIDs compares IDs by their bytes.
func CompareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

// ItemMessage is why an item was not sent, cut to 500 characters, as each item has one.
func ItemMessage(err error) string { return fmt.Sprintf("%.500s", err.Error()) }

// MaxName bounds a name, in bytes.
const MaxName = 255

// TurnTime is about how long a loop advances one object before the next.
const TurnTime = time.Second

// ErrTurnLost means: another process has taken the turn of a loop.
var ErrTurnLost = errors.New("another process has the turn")

// RowsOf reports a row that failed alone as faulty, if this process has its turn and the database can store anything.
func RowsOf[T any, K comparable](db engine.Writer, what string, key func(T) K) *due.Rows[T, K] {
	return due.New(what, key, func(ctx context.Context, _ T, _ task.Instant, why error) error {
		if errors.Is(why, ErrTurnLost) {
			return why
		}
		return engine.Storable(ctx, db, why)
	})
}

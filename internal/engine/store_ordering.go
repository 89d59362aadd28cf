package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OrderingKey names the tasks that run one at a time: those of a namespace that were submitted with one key.
type OrderingKey struct{ Namespace, Key string }

// Waiting is a task that waits for the turn of its key.
type Waiting struct {
	Key  OrderingKey
	Task task.ID
}

// OrderPlace is what an ordering key shows of a task.
type OrderPlace struct {
	// Head is the task that has the turn of the key; zero for a moment between two tasks.
	Head task.ID
	// Before counts the tasks that wait before this one, up to TurnsCounted.
	Before int
	// Waits is false for the head, and for a task that waits for no turn.
	Waits bool
}

// TurnsCounted is the largest number of tasks that OrderPlace and CountWaiting count.
const TurnsCounted = 100_000

// OrderingStore keeps, for each ordering key, the task that has its turn (the head) and those that wait for it.
//
// Tasks are added without looking at their key, so that no submission waits for another transaction. An added task is
// fresh: a head that ends at the same moment may not have seen it. MarkKnown ends that, once the head of the key is
// locked: from then on the end of that head sees the task.
type OrderingStore interface {
	// The heads of keys.

	// LockHeads locks the heads of keys, each named once. It returns the keys whose head it has locked, and those
	// without a head; a key is in neither list if another transaction holds its head.
	LockHeads(ctx context.Context, tx Tx, keys []OrderingKey) (locked, vacant []OrderingKey, err error)
	// AddHeads makes tasks the heads of their keys, each named once, and returns the keys for which it did: those that
	// had none.
	AddHeads(ctx context.Context, tx Tx, heads []Waiting) ([]OrderingKey, error)
	// RemoveHeads removes those of the tasks that are heads, and returns their keys.
	RemoveHeads(ctx context.Context, tx Tx, tasks []task.ID) ([]OrderingKey, error)

	// Tasks that wait for the turn of their key.

	// AddWaiting adds fresh tasks behind those of their keys, in this order. now orders them among tasks of other
	// transactions.
	AddWaiting(ctx context.Context, tx Tx, tasks []Waiting, now task.Instant) error
	// FirstWaiting returns the first task that waits for each key; a key for which none waits is left out. Fresh tasks
	// come behind those that are not.
	FirstWaiting(ctx context.Context, tx Tx, keys []OrderingKey) ([]Waiting, error)
	// RemoveWaiting removes tasks that wait; unknown ones are ignored.
	RemoveWaiting(ctx context.Context, tx Tx, tasks []task.ID) error
	// MarkKnown marks tasks as no longer fresh, and puts them, in their order, behind those that already are not: a
	// transaction that was committed later may have begun, and have taken its place, earlier.
	MarkKnown(ctx context.Context, tx Tx, tasks []task.ID) error

	// Reads of a committed state.

	// FreshWaiting returns up to limit fresh tasks, the first first. It locks nothing.
	FreshWaiting(ctx context.Context, limit int) ([]Waiting, error)
	// TurnOf returns the place of a task among those of its key.
	TurnOf(ctx context.Context, w Waiting) (OrderPlace, error)
	// CountWaiting counts the tasks that wait for turns, up to limit.
	CountWaiting(ctx context.Context, limit int) (int, error)
}

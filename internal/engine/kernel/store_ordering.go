package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OrderingKey names tasks that run one at a time: those of a namespace with one key.
type OrderingKey struct{ Namespace, Key string }

// Waiting is a task that waits for its key's turn.
type Waiting struct {
	Key  OrderingKey
	Task task.ID
}

// OrderPlace is a task's place among those of its ordering key.
type OrderPlace struct {
	// Head is the task with the turn; zero for a moment between two tasks.
	Head task.ID
	// Before counts the waiting tasks before this one, up to TurnsCounted.
	Before int
	// Waits is false for the head, and without a turn to wait for.
	Waits bool
}

// TurnsCounted bounds the counts of OrderPlace and CountWaiting.
const TurnsCounted = 100_000

// OrderingStore keeps the task with the turn of each ordering key (the head) and the waiting tasks.
//
// Submissions add tasks without reading their key, so that they never wait for another transaction. An added task is
// fresh: a head that ends at the same moment may miss it. MarkKnown ends that under the head's lock: the later end of
// that head sees the task.
type OrderingStore interface {
	// Heads.

	// LockHeads locks the heads of distinct keys. It returns the locked and the vacant keys; a key whose head another
	// transaction holds is in neither list.
	LockHeads(ctx context.Context, tx Tx, keys []OrderingKey) (locked, vacant []OrderingKey, err error)
	// AddHeads makes tasks the heads of their distinct keys, and returns the keys that had none.
	AddHeads(ctx context.Context, tx Tx, heads []Waiting) ([]OrderingKey, error)
	// RemoveHeads removes the heads among the tasks, and returns their keys.
	RemoveHeads(ctx context.Context, tx Tx, tasks []task.ID) ([]OrderingKey, error)

	// Waiting tasks.

	// AddWaiting adds fresh tasks behind those of their keys, in this order. now orders them among other
	// transactions.
	AddWaiting(ctx context.Context, tx Tx, tasks []Waiting, now task.Instant) error
	// FirstWaiting returns the first waiting task of each key, if any. Fresh tasks come last.
	FirstWaiting(ctx context.Context, tx Tx, keys []OrderingKey) ([]Waiting, error)
	// RemoveWaiting ignores unknown tasks.
	RemoveWaiting(ctx context.Context, tx Tx, tasks []task.ID) error
	// MarkKnown ends the freshness of tasks, and puts them, in order, behind earlier known ones: a transaction that
	// commits later may have taken its place earlier.
	MarkKnown(ctx context.Context, tx Tx, tasks []task.ID) error

	// Reads of a committed state.

	// FreshWaiting returns up to limit fresh tasks in order, without locks.
	FreshWaiting(ctx context.Context, limit int) ([]Waiting, error)
	TurnOf(ctx context.Context, w Waiting) (OrderPlace, error)
	// CountWaiting counts up to limit tasks.
	CountWaiting(ctx context.Context, limit int) (int, error)
}

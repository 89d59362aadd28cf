package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Holder is the task bound to a unique key, and how long it guards the key.
type Holder struct {
	Task task.ID
	// While are the phases in which it guards.
	While []string
	Until task.Instant // end of the guard; 0: no bound
}

// Guardian is a stored Holder. State is "" if there is no task.
type Guardian struct {
	Holder
	State task.State
}

// Guards reports whether the key is taken at a time.
func (g *Guardian) Guards(now task.Instant) bool {
	return g.State != "" && task.Guards(g.While, g.State) && (g.Until == 0 || now < g.Until)
}

// UniqueAsk requests a unique key for a task that need not exist yet.
type UniqueAsk struct {
	Name KeyName
	To   Holder
}

// UniqueMove binds a unique key to another task than From.
type UniqueMove struct {
	Name KeyName
	From task.ID
	To   Holder
}

// UniqueStore stores unique keys, each bound to at most one task. The task's row shows whether it guards the key, so
// changes of tasks need not read keys.
type UniqueStore interface {
	// WithoutWaiting runs fn, which takes and moves keys. If another transaction holds a key or its task, fn is
	// undone and the error is ErrKeyLocked; the transaction can continue. Elsewhere the transaction waits.
	WithoutWaiting(ctx context.Context, tx Tx, fn func() error) error
	// TakeUnique binds the free ones of distinct keys, and answers in order: the zero Guardian, or the guarding task.
	// A key of a task without a row is free.
	TakeUnique(ctx context.Context, tx Tx, asks []UniqueAsk, now task.Instant) ([]Guardian, error)
	// MoveUnique locks the bound tasks, and binds the keys to others. It returns the keys that were still bound to
	// From.
	MoveUnique(ctx context.Context, tx Tx, moves []UniqueMove) (map[KeyName]bool, error)
	// DropUnique deletes up to limit keys whose period ended before a time.
	DropUnique(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Guardians returns the tasks bound to unique keys, guarding or not.
	Guardians(ctx context.Context, names []KeyName) (map[KeyName]Guardian, error)
}

package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Holder is the task that a unique key is bound to, and how long it guards the key.
type Holder struct {
	Task task.ID
	// While are the phases in which the task guards the key.
	While []string
	Until task.Instant // the key is free from then on; 0: no bound
}

// Guardian is a Holder as the store finds it. State is the state of its task, "" if there is no such task.
type Guardian struct {
	Holder
	State task.State
}

// Guards reports whether the key is not free at a time.
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

// UniqueStore stores unique keys. A key is bound to at most one task. It is free if that task no longer guards it,
// which its own row says: no transaction that changes the state of a task looks at keys.
type UniqueStore interface {
	// WithoutWaiting runs fn, which takes and moves keys in the transaction. Where another transaction holds one of them,
	// or the task of one, the error is ErrKeyLocked; then nothing of fn was done, and the transaction can continue.
	// Outside of it, the transaction waits for the other one.
	WithoutWaiting(ctx context.Context, tx Tx, fn func() error) error
	// TakeUnique binds the keys that are free, each named once, and answers each in order: with the zero Guardian, or
	// with the task that guards it. A key that is bound to a task without a row counts as free.
	TakeUnique(ctx context.Context, tx Tx, asks []UniqueAsk, now task.Instant) ([]Guardian, error)
	// MoveUnique locks the tasks that keys are bound to, and binds the keys to others. It returns the keys that it has
	// moved: those that were still bound to From.
	MoveUnique(ctx context.Context, tx Tx, moves []UniqueMove) (map[KeyName]bool, error)
	// DropUnique deletes up to limit keys whose period ended before a time.
	DropUnique(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Guardians returns the tasks that unique keys are bound to, whether they guard them or not. A key that is not bound
	// is left out.
	Guardians(ctx context.Context, names []KeyName) (map[KeyName]Guardian, error)
}

package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// KeyStore stores idempotency keys.
type KeyStore interface {
	// TakeKeys binds distinct idempotency keys until expires, and answers in order. A bound key that has not expired
	// at now stays.
	//
	// If another transaction is binding one, a patient caller waits for its end; for others nothing is bound, the
	// error is ErrKeyLocked, and this transaction can continue.
	TakeKeys(ctx context.Context, tx Tx, asks []KeyAsk, now, expires task.Instant, patient bool) ([]KeyAnswer, error)
	// BindKey replaces a binding.
	BindKey(ctx context.Context, tx Tx, name KeyName, to Binding, expires task.Instant) error
	DropKeys(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	BoundTasks(ctx context.Context, names []KeyName, now task.Instant) (map[KeyName]task.ID, error)
}

// KeyName names an idempotency key.
type KeyName struct{ Namespace, Key string }

// Binding is the task to which an idempotency key is bound.
type Binding struct {
	Task task.ID
	// Hash of the submission made with the key, or "".
	Hash string
}

// KeyAsk requests a key. The task's row may be written later.
type KeyAsk struct {
	Name KeyName
	To   Binding
}

// KeyAnswer answers a KeyAsk. Taken: the key is already bound, to Bound.
type KeyAnswer struct {
	Bound Binding
	Taken bool
}

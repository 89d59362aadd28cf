package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// KeyStore stores idempotency keys.
type KeyStore interface {
	// TakeKeys binds idempotency keys, each named once, until expires, and answers each in order. A key that is already
	// bound (and not expired at now) stays as it is.
	//
	// Another transaction may be about to bind one of them. Then a patient caller waits for the end of that
	// transaction; for others nothing is bound and the error is ErrKeyLocked, after which this transaction can
	// continue.
	TakeKeys(ctx context.Context, tx Tx, asks []KeyAsk, now, expires task.Instant, patient bool) ([]KeyAnswer, error)
	// BindKey binds an idempotency key until expires, whatever it is bound to.
	BindKey(ctx context.Context, tx Tx, name KeyName, to Binding, expires task.Instant) error
	// DropKeys deletes up to limit keys that expired before a time.
	DropKeys(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// BoundTasks returns the tasks that idempotency keys are bound to at a time. A key
	// that is not bound is left out.
	BoundTasks(ctx context.Context, names []KeyName, now task.Instant) (map[KeyName]task.ID, error)
}

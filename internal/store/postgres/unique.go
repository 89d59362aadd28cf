package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// WithoutWaiting implements engine.UniqueStore.
func (*Store) WithoutWaiting(ctx context.Context, within engine.Tx, fn func() error) error {
	return in(within).atOnce(ctx, fn)
}

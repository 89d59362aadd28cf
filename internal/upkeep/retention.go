package upkeep

import (
	"context"
	"time"
)

// retentionInterval is the rhythm of deletion. It works in bounded batches, so
// that it never holds up the hot path for long.
const retentionInterval = time.Minute

// retention deletes what is older than the configuration keeps.
func (u *Upkeep) retention() *loop {
	return &loop{name: "retention", every: retentionInterval, polite: true, once: func(ctx context.Context) (int, bool, error) {
		n, err := u.engine.Retain(ctx)
		return n, n >= u.engine.Config().Retention.BatchItems, err
	}}
}

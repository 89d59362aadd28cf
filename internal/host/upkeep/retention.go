package upkeep

import (
	"context"
	"time"
)

// retentionInterval is the interval of deletion in bounded batches, which delay claims only briefly.
const retentionInterval = time.Minute

// retention deletes rows beyond the configured age. A full batch of one kind continues the round immediately.
func (u *Upkeep) retention() Loop {
	return Loop{Name: "retention", Every: retentionInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.Retain(ctx)
			return n, n >= u.engine.Config().Retention.BatchItems, err
		}}
}

package upkeep

import (
	"context"
	"time"
)

// retentionInterval is the interval of deletion. Each round deletes bounded batches, so it
// never delays claims for long.
const retentionInterval = time.Minute

// retention deletes rows that are older than the configuration keeps.
// A full batch of one kind means that the round continues at once.
func (u *Upkeep) retention() Loop {
	return Loop{Name: "retention", Every: retentionInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.Retain(ctx)
			return n, n >= u.engine.Config().Retention.BatchItems, err
		}}
}

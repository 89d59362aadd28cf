package upkeep

import (
	"context"
	"time"
)

// tellInterval is the least time between two notifications about what was committed here.
const tellInterval = 200 * time.Millisecond

// tell publishes to other processes what is committed here, while one of them listens.
func (u *Upkeep) tell(ctx context.Context) error {
	tick := time.NewTicker(tellInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := bounded(ctx, u.engine.PublishFeed)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !failing {
			u.log.Warn("cannot tell other nodes what happens here; who listens there is told that something is missing", "error",
				err)
		}
		failing = err != nil
	}
}

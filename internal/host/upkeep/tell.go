package upkeep

import (
	"context"
	"time"
)

// tellInterval is the minimum time between two publications.
const tellInterval = 200 * time.Millisecond

// tell publishes local commits while another process has a listener.
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
			u.log.Warn("cannot publish changes to other nodes; their listeners will get a gap", "error",
				err)
		}
		failing = err != nil
	}
}

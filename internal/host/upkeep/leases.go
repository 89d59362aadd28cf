package upkeep

import "context"

// leases ends expired leases: not started in time, no heartbeat, or past the attempt's time-out. held ends those in
// a dispatcher.
func (u *Upkeep) leases() Loop {
	return Loop{Name: "leases", Every: u.engine.Config().UpkeepInterval,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.ReapLeases(ctx, batch)
			return n, n == batch, err
		}}
}

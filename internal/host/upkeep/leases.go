package upkeep

import "context"

// leases ends leases that ran out: not started in time, no heartbeat, attempt
// longer than its time-out.
// Leases in a dispatcher are ended by held.
func (u *Upkeep) leases() Loop {
	return Loop{Name: "leases", Every: u.engine.Config().UpkeepInterval,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.ReapLeases(ctx, batch)
			return n, n == batch, err
		}}
}

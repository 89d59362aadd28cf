package upkeep

import "context"

// workers marks workers dead that have missed their heartbeats.
// A third of the heartbeat's interval bounds how late a dead worker is noticed.
func (u *Upkeep) workers() Loop {
	every := max(u.engine.Config().Leases.HeartbeatInterval/3, u.engine.Config().UpkeepInterval)
	return Loop{Name: "workers", Every: every, Once: func(ctx context.Context) (int, bool, error) {
		n, err := u.engine.MarkDeadWorkers(ctx)
		return n, false, err
	}}
}

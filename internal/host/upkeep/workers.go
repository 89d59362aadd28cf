package upkeep

import "context"

// workers marks silent workers dead. A third of the heartbeat's interval bounds the delay.
func (u *Upkeep) workers() Loop {
	every := max(u.engine.Config().Leases.HeartbeatInterval/3, u.engine.Config().UpkeepInterval)
	return Loop{Name: "workers", Every: every, Once: func(ctx context.Context) (int, bool, error) {
		n, err := u.engine.MarkDeadWorkers(ctx)
		return n, false, err
	}}
}

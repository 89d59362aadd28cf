package upkeep

import "context"

// deadlines puts tasks in error that ran longer than their max_duration.
func (u *Upkeep) deadlines() *loop {
	return &loop{name: "deadlines", every: u.engine.Config().UpkeepInterval, once: func(ctx context.Context) (int, bool, error) {
		n, err := u.engine.ExpireTasks(ctx, batch)
		return n, n == batch, err
	}}
}

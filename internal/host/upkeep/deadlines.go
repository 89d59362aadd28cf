package upkeep

import "context"

// deadlines sets tasks beyond their max_duration to error. A full batch means that there may be more.
func (u *Upkeep) deadlines() Loop {
	return Loop{Name: "deadlines", Every: u.engine.Config().UpkeepInterval,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.ExpireTasks(ctx, batch)
			return n, n == batch, err
		}}
}

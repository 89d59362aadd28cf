package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// dispatch goes back to the dispatcher when it can be used, and fills it when it
// has to be. Every process sees to itself.
func (u *Upkeep) dispatch() *loop {
	was := engine.DispatchState{Active: true}
	return &loop{name: "dispatch", every: u.engine.Config().UpkeepInterval, free: true, once: func(ctx context.Context) (int, bool, error) {
		err := u.engine.TendDispatch(ctx)
		now := u.engine.Dispatch()
		switch {
		case !now.Configured || now.Active == was.Active:
		case now.Active:
			u.log.Info("steps are dispatched through the dispatcher again")
		default:
			u.log.Warn("steps are dispatched through the database until the dispatcher can be used", "why", now.Why)
		}
		was = now
		return 0, false, err
	}}
}

// sweep finds what the dispatcher was never told of.
func (u *Upkeep) sweep() *loop {
	return &loop{name: "dispatch_sweep", every: u.engine.Config().UpkeepInterval, once: func(ctx context.Context) (int, bool, error) {
		return 0, false, u.engine.SweepDispatch(ctx)
	}}
}

package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// dispatch returns to the dispatcher when possible, and fills it if necessary. It runs in every process; processes
// that share a store agree on who hands out steps, including those without a dispatcher.
func (u *Upkeep) dispatch() Loop {
	was := engine.DispatchState{Active: true}
	every := u.engine.Config().UpkeepInterval
	return Loop{Name: "dispatch", Every: every, Everywhere: true, ReadsOnly: true,
		Once: func(ctx context.Context) (int, bool, error) {
			err := u.engine.MaintainDispatch(ctx)
			now := u.engine.DispatchState()
			switch {
			case !now.Configured || now.Active == was.Active:
			case now.Active:
				u.log.Info("steps are dispatched through the dispatcher again")
			default:
				u.log.Warn("steps are dispatched through the database until the dispatcher is available", "why", now.Why)
			}
			was = now
			return 0, false, err
		}}
}

// A process cut off from the dispatcher leaves its work to others.
func (u *Upkeep) active() bool { return u.engine.DispatchState().Active }

// held ends expired leases in the dispatcher.
func (u *Upkeep) held() Loop {
	return Loop{Name: "dispatch_leases", Every: u.engine.Config().UpkeepInterval, Able: u.active,
		Once: batches(u.engine.ReapDispatched)}
}

// sweep finds ready steps that never reached the dispatcher.
func (u *Upkeep) sweep() Loop {
	return Loop{Name: "dispatch_sweep", Every: u.engine.Config().UpkeepInterval, Able: u.active,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, u.engine.SweepDispatch(ctx)
		}}
}

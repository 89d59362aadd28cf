package upkeep

import (
	"context"
	"errors"
	"time"
)

// limits lets steps pass gates signalled in callers' transactions, or by a process that ended too early.
func (u *Upkeep) limits() Loop {
	return Loop{Name: "limits", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.Admit}
}

const gateCheckInterval = 10 * time.Second

// permits compares permits with their holders, and gives permits to running steps without one.
func (u *Upkeep) permits() Loop {
	return Loop{Name: "permits", Every: gateCheckInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			found, more, err := u.engine.CheckGates(ctx, batch)
			if found.Stray > 0 {
				u.log.Warn("permits of steps that had ended were freed", "permits", found.Stray)
			}
			return found.Stray + found.Stalled, more, errors.Join(err, u.engine.KeepLimits(ctx, batch))
		}}
}

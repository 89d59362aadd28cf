package upkeep

import (
	"context"
	"errors"
	"time"
)

// limits lets steps pass the gates of limits that were signalled in transactions of callers, or by a process that ended
// before it looked at them.
func (u *Upkeep) limits() Loop {
	return Loop{Name: "limits", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.Admit}
}

// gateCheckInterval is the time between two checks of permits and gates.
const gateCheckInterval = 10 * time.Second

// permits compares permits with the steps that hold them, and gives permits to steps that run without one.
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

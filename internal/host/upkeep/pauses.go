package upkeep

import (
	"context"
	"errors"
	"time"
)

// pauses follows other processes' pauses and limits, and automatic ends of pauses, in every process.
func (u *Upkeep) pauses() Loop {
	return Loop{Name: "pauses", Every: u.engine.Config().UpkeepInterval, Everywhere: true, ReadsOnly: true,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, errors.Join(u.engine.RefreshPauses(ctx), u.engine.RefreshLimits(ctx))
		}}
}

// pauseReleases returns steps that pauses of templates parked.
func (u *Upkeep) pauseReleases() Loop {
	return Loop{Name: "pause_releases", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.ReleasePaused(ctx, batch)
			return n, n >= batch, err
		}}
}

// pauseEnds stores the automatic ends of pauses.
func (u *Upkeep) pauseEnds() Loop {
	return Loop{Name: "pause_ends", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.EndPauses(ctx, batch)
			return n, n == batch, err
		}}
}

// outages lets polls take due probes of open outages, and counts uncounted failures, in every process.
func (u *Upkeep) outages() Loop {
	return Loop{Name: "outages", Every: u.engine.Config().UpkeepInterval, Everywhere: true, ReadsOnly: true,
		Once: func(ctx context.Context) (int, bool, error) {
			u.engine.WakeProbers()
			return 0, false, u.engine.CountBursts(ctx)
		}}
}

func (u *Upkeep) outageTidying() Loop {
	return Loop{Name: "outage_tidying", Every: time.Minute, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.TidyOutages(ctx, batch)
			return n, n >= batch, err
		}}
}

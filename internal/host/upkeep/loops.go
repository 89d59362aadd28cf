package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// batches handles up to batch items at a time. After a full batch there may be more.
func batches(once func(ctx context.Context, limit int) (int, error)) func(context.Context) (int, bool, error) {
	return func(ctx context.Context) (int, bool, error) {
		n, err := once(ctx, batch)
		return n, n >= batch, err
	}
}

// leases ends expired leases: not started in time, no heartbeat, or past the attempt's time-out. held ends those in
// a dispatcher.
func (u *Upkeep) leases() Loop {
	return Loop{Name: "leases", Every: u.engine.Config().UpkeepInterval, Once: batches(u.engine.ReapLeases)}
}

// deadlines sets tasks beyond their max_duration to error.
func (u *Upkeep) deadlines() Loop {
	return Loop{Name: "deadlines", Every: u.engine.Config().UpkeepInterval, Once: batches(u.engine.ExpireTasks)}
}

// children continues steps with child tasks after a crash, and where a child ended in a caller's transaction. Other
// changes are handled right after their commit.
func (u *Upkeep) children() Loop {
	return Loop{Name: "children", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.AdvanceChildren}
}

// ordering gives turns of ordering keys to tasks submitted in callers' transactions, or by a process that ended too
// early.
func (u *Upkeep) ordering() Loop {
	return Loop{Name: "ordering", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.GiveTurns}
}

// signals hands signals to steps that began to wait in callers' transactions, and finishes the work of an ended
// process.
func (u *Upkeep) signals() Loop {
	return Loop{Name: "signals", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.HandOverSignals}
}

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
		Once: batches(u.engine.ReleasePaused)}
}

// pauseEnds stores the automatic ends of pauses.
func (u *Upkeep) pauseEnds() Loop {
	return Loop{Name: "pause_ends", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true,
		Once: batches(u.engine.EndPauses)}
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
	return Loop{Name: "outage_tidying", Every: time.Minute, Polite: true, Once: batches(u.engine.TidyOutages)}
}

// workers marks silent workers dead. A third of the heartbeat's interval bounds the delay.
func (u *Upkeep) workers() Loop {
	every := max(u.engine.Config().Leases.HeartbeatInterval/3, u.engine.Config().UpkeepInterval)
	return Loop{Name: "workers", Every: every, Once: func(ctx context.Context) (int, bool, error) {
		n, err := u.engine.MarkDeadWorkers(ctx)
		return n, false, err
	}}
}

// retentionInterval is the interval of deletion in bounded batches, which delay claims only briefly.
const retentionInterval = time.Minute

// retention deletes rows beyond the configured age. A full batch of one kind continues the round immediately.
func (u *Upkeep) retention() Loop {
	return Loop{Name: "retention", Every: retentionInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, err := u.engine.Retain(ctx)
			return n, n >= u.engine.Config().Retention.BatchItems, err
		}}
}

// largeResultsInterval is long, because a search reads the list of all large results.
const largeResultsInterval = 5 * time.Minute

// largeResults deletes unreferenced large results.
func (u *Upkeep) largeResults() Loop {
	return Loop{Name: "large_results", Every: largeResultsInterval, Polite: true, Once: u.engine.SweepLargeResults}
}

// measure exchanges measurements with the other processes, so that statistics cover the cluster. It runs
// everywhere.
func (u *Upkeep) measure() Loop {
	return Loop{Name: "measure", Every: engine.ReportInterval, Everywhere: true,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, u.engine.ShareMeasurements(ctx)
		}}
}

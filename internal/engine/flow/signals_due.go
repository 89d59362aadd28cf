package flow

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// HandOverSignals hands over signals that missed a simultaneous wait. It returns the number of steps and signals
// processed, and whether there are more. Several processes may run it. A *due.Error lists skipped ones.
func (e *Room) HandOverSignals(ctx context.Context) (n int, more bool, err error) {
	fresh, err := e.WaitReads.AnyFresh(ctx)
	if err != nil || !fresh {
		return 0, false, err
	}
	now := e.Now()
	var signals []task.Signal
	var waits []kernel.SignalMatch
	together := e.dueFlow.signals.Resting()+e.dueFlow.waits.Resting() == 0
	err = e.Write(ctx, "hand_over_signals", func(u *kernel.Unit) (err error) {
		if signals, waits, err = e.freshHandOvers(u.Ctx, u.Tx, now); err != nil || !together {
			return err
		}
		more, err = handOver{u}.run(signals, waits)
		return err
	})
	n = len(signals) + len(waits)
	full := len(signals) == freshSignals || len(waits) == signalsAtOnce
	if err == nil && together {
		return n, more || full, nil
	}
	if err != nil && (ctx.Err() != nil || n == 0) {
		return 0, false, err
	}
	more, err = e.handOverApart(ctx, now, signals, waits)
	return n, more || full, err
}

func (e *Room) freshHandOvers(ctx context.Context, tx kernel.Tx, now task.Instant) (signals []task.Signal,
	waits []kernel.SignalMatch, err error,
) {
	signals, err = e.dueFlow.signals.Read(now, freshSignals, func(limit int) ([]task.Signal, error) {
		return e.SignalStore.FreshSignals(ctx, tx, limit)
	})
	if err != nil {
		return nil, nil, err
	}
	waits, err = e.dueFlow.waits.Read(now, signalsAtOnce, func(limit int) ([]kernel.SignalMatch, error) {
		return e.waitStore.FreshWaits(ctx, tx, limit)
	})
	return signals, waits, err
}

// handOverApart uses several transactions because some fail: their signals rest.
func (e *Room) handOverApart(ctx context.Context, now task.Instant, signals []task.Signal, waits []kernel.SignalMatch,
) (more bool, err error) {
	run := func(ctx context.Context, signals []task.Signal, waits []kernel.SignalMatch) error {
		again := false
		err := e.Write(ctx, "hand_over_signals", func(u *kernel.Unit) (err error) {
			again, err = handOver{u}.run(signals, waits)
			return err
		})
		more = more || again && err == nil
		return err
	}
	toWaits := func(waits []kernel.SignalMatch) error {
		return e.dueFlow.waits.Try(ctx, now, waits, func(ctx context.Context, some []kernel.SignalMatch) error {
			return run(ctx, nil, some)
		})
	}
	ofSignals := e.dueFlow.signals.Try(ctx, now, signals, func(ctx context.Context, some []task.Signal) error {
		err := run(ctx, some, nil)
		if err == nil || len(some) > 1 {
			return err
		}
		// One of the waiting steps may be at fault.
		var matches []kernel.SignalMatch
		if err := e.Write(ctx, "hand_over_signals", func(u *kernel.Unit) (err error) {
			matches, err = Of(u.E).waitStore.Awaited(u.Ctx, u.Tx, some, signalsAtOnce)
			return err
		}); err != nil {
			return err
		}
		if len(matches) < 2 {
			return err
		}
		return toWaits(matches)
	})
	if ofSignals != nil && !due.OnlyRows(ofSignals) {
		return false, ofSignals
	}
	return more, cmp.Or(toWaits(waits), ofSignals)
}

func (e *Room) handOverSignals(calls []struct{}) ([]struct{}, error) {
	return calls, kernel.Repeat(e.HandOverSignals)
}

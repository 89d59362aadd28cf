package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const redrivePage = 25

// Advance advances running redrives, for about a second each. It must run in one process at a time; another may
// continue. It returns the number of decided items, and whether more are due.
//
// It keeps no state between calls: the rows have it.
func (in *Redriver) Advance(ctx context.Context) (n int, more bool, err error) {
	defer func() { in.ObserveFailure(desk.ObservedSend, err) }()
	errs := []error{in.watchCases(ctx)}
	var t outbox.Turn
	taken := false
	for last := (task.ID{}); ctx.Err() == nil; {
		page, err := in.store.ActiveRedrives(ctx, last, redrivePage)
		if err != nil {
			return n, false, errors.Join(append(errs, err)...)
		}
		if len(page) > 0 && !taken {
			if t, err = in.outbox.TakeTurn(ctx, outbox.LoopRedrives); err != nil {
				return n, false, errors.Join(append(errs, err)...)
			}
			taken = true
		}
		for _, r := range page {
			last = r.ID
			run := &runner{in: in, turn: t, redrive: r, until: in.Now().Add(desk.TurnTime)}
			again, err := run.run(ctx)
			n += run.decided
			more = more || again
			if errors.Is(err, desk.ErrTurnLost) {
				return n, false, errors.Join(errs...)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("redrive %s: %w", r.ID, err))
			}
			if ctx.Err() != nil {
				break
			}
		}
		if len(page) < redrivePage {
			break
		}
	}
	err = errors.Join(errs...)
	return n, more && err == nil, err
}

// runner advances one redrive, in one goroutine, for one turn. redrive is the row as last read; each transaction reads
// it again (reload), because an operator may act at any time.
type runner struct {
	in      *Redriver
	turn    outbox.Turn
	redrive *deadletter.Redrive
	until   task.Instant
	decided int
}

// run steps until nothing is due, or reports true when the time is up.
//
// Redrive.Next decides each step from the row and the outcome of the wave alone. Before an observation ends, run
// records the results of the wave's tasks. SendDue settles sends of unknown outcome.
func (r *runner) run(ctx context.Context) (more bool, err error) {
	for watched := 0; ; {
		if !r.redrive.State.Active() {
			return false, nil
		}
		outcome, err := r.in.store.WaveOutcome(ctx, r.redrive.ID, r.redrive.Wave)
		if err != nil {
			return false, err
		}
		if outcome.Decided() > r.redrive.WaveSent && r.redrive.WaveSize > 0 { // others have decided some
			if err := r.recount(ctx); err != nil {
				return false, err
			}
			continue
		}
		step := r.redrive.Next(r.in.Now(), outcome)
		if r.redrive.State == model.RedriveObserving && step.Act != deadletter.ActWait && watched != r.redrive.Wave {
			watched = r.redrive.Wave // the observation ends with the latest results
			if changed, err := r.watchWave(ctx); err != nil {
				return false, err
			} else if changed {
				continue
			}
		}
		switch step.Act {
		case deadletter.ActSend:
			if err := r.send(ctx, step.N); err != nil {
				return false, err
			}
		case deadletter.ActWave, deadletter.ActHalt, deadletter.ActDone:
			if err := r.apply(ctx, step); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
		if r.in.Now() >= r.until {
			return true, nil
		}
	}
}

// apply stores a decision about the redrive: a new wave, a halt, the end. An act of an operator comes first. A new wave
// is no act; halting and ending are, by the system.
func (r *runner) apply(ctx context.Context, step deadletter.Step) error {
	var counts *model.ItemCounts
	if step.Act != deadletter.ActWave {
		var err error
		if counts, err = r.in.countsOf(ctx, r.redrive.ID); err != nil {
			return err
		}
	}
	return r.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		now, err := r.reload(ctx, tx)
		if err != nil || !r.redrive.State.Active() {
			return err
		}
		was := r.redrive.State
		if err := r.redrive.Apply(step, now); err != nil {
			return err
		}
		if err := r.in.store.SaveRedrive(ctx, tx, r.redrive); err != nil {
			return err
		}
		a := desk.Act{Kind: "end_redrive", By: desk.By{Actor: engine.System, Reason: step.Reason}}
		switch step.Act {
		case deadletter.ActWave:
			return r.in.tellRedrive(ctx, tx, r.redrive, was, nil)
		case deadletter.ActHalt:
			a.Kind = "halt_redrive"
		}
		return r.in.actedOnRedrive(ctx, tx, r.redrive, was, counts, a)
	})
}

// reload reads the redrive's row, locked, and returns the time. NotFound: it was deleted; ErrTurnLost: another process
// has the turn.
func (r *runner) reload(ctx context.Context, tx engine.Tx) (task.Instant, error) {
	if err := r.turn.Holds(ctx, tx); err != nil {
		return 0, err
	}
	now, err := r.in.outbox.LockedRedrive(ctx, tx, r.redrive.ID)
	if err == nil {
		r.redrive = now
	}
	return r.in.Now(), err
}

// record stores outcomes, items decided without a send, and last as the number up to which all are decided. Without
// outcomes and items it only counts.
//
// It locks the row of the redrive last, because the mark of the next batch runs at the same time and holds that lock.
func (r *runner) record(ctx context.Context, outcomes []outbox.Outcome, decided []deadletter.Item, last int) error {
	return r.in.outbox.Settling(outcomes, func(fast bool) error {
		return r.update(ctx, func(ctx context.Context, tx engine.Tx) error {
			return r.in.outbox.RecordSends(ctx, tx, outbox.Sent{Turn: r.turn, Outcomes: outcomes, Decided: decided, Fast: fast,
				Once: func(task.ID) bool { return r.redrive.Plan.AtMostOnce }})
		}, func(ctx context.Context, tx engine.Tx, now task.Instant) (int, error) {
			if fast { // all were in flight under this turn, so nobody else has counted them
				n := len(outcomes) + len(decided)
				return n, r.redrive.Decided(n, last, now)
			}
			// The items decide, not this process: another one may have counted some.
			decided, err := r.in.store.DecidedItems(ctx, tx, r.redrive.ID, r.redrive.Wave)
			return decided - r.redrive.WaveSent, errors.Join(err, r.redrive.Decided(decided-r.redrive.WaveSent, last, now))
		})
	})
}

// recount counts items decided by others: an ended process, or later tries of sends without an answer.
func (r *runner) recount(ctx context.Context) error {
	last := r.redrive.Total
	next, err := r.in.store.ListItems(ctx, r.redrive.ID, model.ItemPending, r.redrive.Behind, 1)
	if err != nil {
		return err
	}
	if len(next) > 0 {
		last = next[0].No - 1
	}
	return r.record(ctx, nil, nil, last)
}

func (r *runner) end(ctx context.Context) error {
	nothing := func(context.Context, engine.Tx) error { return nil }
	return r.update(ctx, nothing, func(_ context.Context, _ engine.Tx, now task.Instant) (int, error) {
		return 0, r.redrive.Decided(r.redrive.WaveSize-r.redrive.WaveSent, r.redrive.Total, now)
	})
}

// update changes the redrive's row after rows, in one transaction; count returns the number of decided items. The store
// may run both again.
func (r *runner) update(ctx context.Context, rows func(context.Context, engine.Tx) error,
	count func(context.Context, engine.Tx, task.Instant) (int, error),
) error {
	n := 0
	err := r.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := rows(ctx, tx); err != nil {
			return err
		}
		now, err := r.reload(ctx, tx)
		if err != nil {
			return err
		}
		was := r.redrive.State
		if n, err = count(ctx, tx, now); err != nil {
			return err
		}
		if err := r.in.store.SaveRedrive(ctx, tx, r.redrive); err != nil {
			return err
		}
		return r.in.tellRedrive(ctx, tx, r.redrive, was, nil)
	})
	if err == nil {
		r.decided += max(n, 0)
	}
	return err
}

package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// sendBatch bounds the items that are marked, sent and recorded together; those behind a batch of which all were sent
	// may be twice as many.
	sendBatch = 500
	// redrivePage bounds the redrives that are read together, and turnTime the time that one turn gives to each.
	redrivePage = 25
	turnTime    = time.Second
)

// Advance carries on with the redrives that are running, for about a second each. It must run in one process at a time;
// another process may go on where this one stopped. It returns the number of items that were decided, and whether more
// are due.
//
// Nothing that decides is kept in memory between two calls: rows of the redrive and its items say where it is.
func (in *Inbox) Advance(ctx context.Context) (n int, more bool, err error) {
	defer func() { in.observeFailure(observedSend, err) }()
	errs := []error{in.watchCases(ctx)}
	var t turn
	for last := (task.ID{}); ctx.Err() == nil; {
		page, err := in.store.ActiveRedrives(ctx, last, redrivePage)
		if err != nil {
			return n, false, errors.Join(append(errs, err)...)
		}
		if len(page) > 0 && t.in == nil {
			if t, err = in.takeTurn(ctx, loopRedrives); err != nil {
				return n, false, errors.Join(append(errs, err)...)
			}
		}
		for _, r := range page {
			last = r.ID
			run := &runner{in: in, turn: t, redrive: r, until: in.now().Add(turnTime)}
			again, err := run.run(ctx)
			n += run.decided
			more = more || again
			if errors.Is(err, errTurnLost) { // the one that has it goes on
				return n, false, errors.Join(errs...)
			}
			if err != nil { // one that fails does not hold up the others
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

// runner carries on with one redrive, in one goroutine, for one turn. redrive is the row as it was read last; each
// transaction reads it again (reload), because an operator may act at any time.
type runner struct {
	in      *Inbox
	turn    turn
	redrive *deadletter.Redrive
	until   task.Instant
	decided int
}

// run takes steps until there is nothing to do now, or the time is up; then it reports true.
//
// Each round: ask the domain for the next step (Redrive.Next), and take it. Next decides from the row and the outcome
// of the wave alone. The end of an observation is decided after a look at what became of the tasks of the wave. Sends
// whose outcome is not known are settled by SendDue.
func (r *runner) run(ctx context.Context) (more bool, err error) {
	for watched := 0; ; { // the number of the wave whose tasks were looked at
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
		step := r.redrive.Next(r.in.now(), outcome)
		if r.redrive.State == model.RedriveObserving && step.Act != deadletter.ActWait && watched != r.redrive.Wave {
			watched = r.redrive.Wave // the observation ends with what is true at its end
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
		if r.in.now() >= r.until {
			return true, nil
		}
	}
}

// apply stores a decision about the redrive itself: a new wave, a halt, the end. An operator who acted in the meantime
// comes first. A new wave is no act; halting and ending are, by the system.
func (r *runner) apply(ctx context.Context, step deadletter.Step) error {
	var counts *model.ItemCounts
	if step.Act != deadletter.ActWave {
		var err error
		if counts, err = r.in.countsOf(ctx, r.redrive.ID); err != nil {
			return err
		}
	}
	return r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
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
		a := act{kind: "end_redrive", by: By{Actor: engine.System, Reason: step.Reason}}
		switch step.Act {
		case deadletter.ActWave:
			return r.in.tellRedrive(ctx, tx, r.redrive, was, nil)
		case deadletter.ActHalt:
			a.kind = "halt_redrive"
		}
		return r.in.actedOnRedrive(ctx, tx, r.redrive, was, counts, a)
	})
}

// reload reads the redrive's row, locked, and returns the time. NotFound if it was deleted, errTurnLost if another
// process carries it on.
func (r *runner) reload(ctx context.Context, tx engine.Tx) (task.Instant, error) {
	if err := r.turn.holds(ctx, tx); err != nil {
		return 0, err
	}
	now, err := r.in.lockedRedrive(ctx, tx, r.redrive.ID)
	if err == nil {
		r.redrive = now
	}
	return r.in.now(), err
}

// record stores outcomes, items that were decided without a send, and that the items up to the number last are decided.
// Without any it only counts anew.
//
// The row of the redrive is locked last: record and the mark of the next batch run at the same time, and a mark holds
// that lock.
func (r *runner) record(ctx context.Context, outcomes []outcome, decided []deadletter.Item, last int) error {
	return r.in.settling(outcomes, func(fast bool) error {
		return r.update(ctx, func(ctx context.Context, tx engine.Tx) error {
			return r.in.recordSends(ctx, tx, sent{turn: r.turn, outcomes: outcomes, decided: decided, fast: fast,
				once: func(task.ID) bool { return r.redrive.Plan.AtMostOnce }})
		}, func(ctx context.Context, tx engine.Tx, now task.Instant) (int, error) {
			if fast { // all were in flight under this turn, so nobody else has counted them
				n := len(outcomes) + len(decided)
				return n, r.redrive.Decided(n, last, now)
			}
			// The items say what is decided, not this process: another one may have counted some of them already.
			decided, err := r.in.store.DecidedItems(ctx, tx, r.redrive.ID, r.redrive.Wave)
			return decided - r.redrive.WaveSent, errors.Join(err, r.redrive.Decided(decided-r.redrive.WaveSent, last, now))
		})
	})
}

// recount counts what others have decided: a process that has ended, or the next try of sends without an answer.
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

// end records that no item is left to be decided.
func (r *runner) end(ctx context.Context) error {
	nothing := func(context.Context, engine.Tx) error { return nil }
	return r.update(ctx, nothing, func(_ context.Context, _ engine.Tx, now task.Instant) (int, error) {
		return 0, r.redrive.Decided(r.redrive.WaveSize-r.redrive.WaveSent, r.redrive.Total, now)
	})
}

// update changes the redrive's row, after what rows does in the same transaction; count returns how many items were
// decided. The store may run both again after a conflict.
func (r *runner) update(ctx context.Context, rows func(context.Context, engine.Tx) error,
	count func(context.Context, engine.Tx, task.Instant) (int, error),
) error {
	n := 0
	err := r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
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

package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	// sendBatch bounds the items that are marked, sent and recorded together.
	sendBatch = 500
	// sendTime bounds one send, and orphanAfter is when a mark without a record was left by a process that has ended.
	sendTime, orphanAfter = 8 * time.Second, 10 * time.Second
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
	for last := (task.ID{}); ctx.Err() == nil; {
		page, err := in.store.ActiveRedrives(ctx, last, redrivePage)
		if err != nil {
			return n, false, errors.Join(append(errs, err)...)
		}
		for _, r := range page {
			last = r.ID
			run := &runner{in: in, redrive: r, until: in.now().Add(turnTime)}
			again, err := run.run(ctx)
			n += run.decided
			more = more || again
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
	redrive *deadletter.Redrive
	until   task.Instant
	decided int
}

// run takes steps until there is nothing to do now, or the time is up; then it reports true.
//
// Each round: send again what a dead process left, ask the domain for the next step (Redrive.Next), and take it. Next
// decides from the row and the outcome of the wave alone. The end of an observation is decided after a look at what
// became of the tasks of the wave.
func (r *runner) run(ctx context.Context) (more bool, err error) {
	for watched := 0; ; { // the number of the wave whose tasks were looked at
		if waits, err := r.recover(ctx); err != nil || waits || !r.redrive.State.Active() {
			return false, err
		}
		outcome, err := r.in.store.WaveOutcome(ctx, r.redrive.ID, r.redrive.Wave)
		if err != nil {
			return false, err
		}
		if outcome.Decided() > r.redrive.WaveSent && r.redrive.WaveSize > 0 { // a process ended before it counted them
			if err := r.record(ctx, nil, 0); err != nil {
				return false, err
			}
			continue
		}
		step := r.redrive.Next(r.in.now(), outcome)
		if r.redrive.State == deadletter.RedriveObserving && step.Act != deadletter.ActWait && watched != r.redrive.Wave {
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
	var counts *deadletter.Counts
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
		if step.Act == deadletter.ActWave {
			return r.in.tellRedrive(ctx, tx, r.redrive, was, nil)
		}
		kind := "end_redrive"
		if step.Act == deadletter.ActHalt {
			kind = "halt_redrive"
		}
		if err := r.in.act(ctx, tx, act{kind: kind, by: By{Actor: engine.System, Reason: step.Reason},
			namespace: r.redrive.Namespace, of: r.redrive.ID.String(), from: string(was),
			to: string(r.redrive.State)}); err != nil {
			return err
		}
		return r.in.tellRedrive(ctx, tx, r.redrive, was, counts)
	})
}

// reload reads the redrive's row, locked, and returns the time. NotFound if it was deleted.
func (r *runner) reload(ctx context.Context, tx engine.Tx) (task.Instant, error) {
	now, err := r.in.store.Redrive(ctx, tx, r.redrive.ID)
	if err == nil && now == nil {
		err = noRedrive(r.redrive.ID)
	}
	if err == nil {
		r.redrive = now
	}
	return r.in.now(), err
}

// record stores results, and that the items up to the number last are decided. Without results it only counts anew.
//
// The row of the redrive is locked last: record and the mark of the next batch run at the same time, and a mark holds
// that lock.
func (r *runner) record(ctx context.Context, results []result, last int) error {
	return r.update(ctx, func(ctx context.Context, tx engine.Tx) error {
		return r.in.recordSends(ctx, tx, results, r.in.now(), nil)
	}, func(ctx context.Context, tx engine.Tx, now task.Instant) (int, error) {
		// The items say what is decided, not this process: another one may have counted some of them already.
		decided, err := r.in.store.DecidedItems(ctx, tx, r.redrive.ID, r.redrive.Wave)
		return decided - r.redrive.WaveSent, errors.Join(err, r.redrive.Decided(decided-r.redrive.WaveSent, last, now))
	})
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

// recover sends the items again that another process was sending when it ended. They may have been sent: they are
// marked as uncertain, and sent under the same letter ID, by which a consumer can recognise them. It reports whether to
// wait: another process may still be sending, and counts what it sends.
func (r *runner) recover(ctx context.Context) (wait bool, err error) {
	items, err := r.in.store.ListItems(ctx, r.redrive.ID, deadletter.ItemSending, 0, r.in.batch)
	if err != nil || len(items) == 0 {
		return false, err
	}
	var orphans []deadletter.Item
	for _, i := range items {
		if i.At <= r.in.orphans() || r.in.now().Sub(i.At) <= -orphanAfter { // a clock was put back
			i.Uncertain = true
			orphans = append(orphans, i)
		}
	}
	if len(orphans) == 0 {
		return true, nil
	}
	b := &batch{runner: r, items: orphans, again: true}
	if err := b.mark(ctx); err != nil {
		return false, err
	}
	results := b.send(ctx)
	last, err := r.lastDecided(ctx)
	if err != nil {
		return false, err
	}
	return false, r.record(ctx, results, last)
}

// lastDecided returns the number of the last item before which none is pending. The process that ended may have found
// items among the marked ones that it could not send: it would have noted that with the results of the others.
func (r *runner) lastDecided(ctx context.Context) (int, error) {
	next, err := r.in.store.ListItems(ctx, r.redrive.ID, deadletter.ItemPending, r.redrive.Behind, 1)
	if err != nil || len(next) == 0 {
		return r.redrive.Total, err
	}
	return next[0].No - 1, nil
}

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
	// runnable bounds the redrives that one turn looks at, and turnTime the time that it gives to each.
	runnable = 100
	turnTime = time.Second
)

// Advance carries on with the redrives that are running, for about a second each. It must run in one process at a time;
// another process may go on where this one stopped. It returns the number of items that were decided, and whether more
// are due.
//
// Nothing that decides is kept in memory between two calls: rows of the redrive and its items say where it is.
func (in *Inbox) Advance(ctx context.Context) (n int, more bool, err error) {
	active, err := in.store.ActiveRedrives(ctx, runnable)
	if err != nil {
		return 0, false, err
	}
	var errs []error
	for _, r := range active {
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
	return n, more && len(errs) == 0, errors.Join(errs...)
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
// Each round: send again what a dead process left, look what became of replayed tasks (once), ask the domain for the
// next step (Redrive.Next), and take it. Next decides from the row and the outcome of the wave alone.
func (r *runner) run(ctx context.Context) (more bool, err error) {
	for watched := false; ; {
		if waits, err := r.recover(ctx); err != nil || waits || !r.redrive.State.Active() {
			return false, err
		}
		if !watched {
			if err := r.watchTasks(ctx); err != nil {
				return false, err
			}
			watched = true
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
		switch step.Act {
		case deadletter.ActSend:
			if err := r.send(ctx, min(step.N, sendBatch)); err != nil {
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
			return nil
		}
		kind := "end_redrive"
		if step.Act == deadletter.ActHalt {
			kind = "halt_redrive"
		}
		return r.in.act(ctx, tx, act{kind: kind, by: By{Actor: engine.System, Reason: step.Reason},
			namespace: r.redrive.Namespace, of: r.redrive.ID.String(), from: string(was), to: string(r.redrive.State)})
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

// send decides the next n items: it sends letters in one batch and replays cases one by one, or notes why not. An error
// leaves the rest of the items pending, or marked for recover.
func (r *runner) send(ctx context.Context, n int) error {
	items, err := r.in.store.ListItems(ctx, r.redrive.ID, deadletter.ItemPending, r.redrive.Behind, n)
	if err != nil {
		return err
	}
	if len(items) == 0 { // nothing is left, whatever the row says
		return r.end(ctx)
	}
	if r.redrive.Operation != deadletter.OpRedrive {
		return r.change(ctx, items)
	}
	var letters, cases []deadletter.Item
	for _, i := range items {
		i.Wave = r.redrive.Wave
		if isLetter(i) {
			letters = append(letters, i)
		} else {
			cases = append(cases, i)
		}
	}
	var results []result
	if len(letters) > 0 {
		b := &batch{runner: r, items: letters}
		if err := b.mark(ctx); err != nil || !r.redrive.State.Active() {
			return err // an operator came first; nothing is marked
		}
		results = b.send(ctx)
	}
	done, left, err := r.onCases(ctx, cases, r.replay)
	return errors.Join(err, r.record(ctx, append(results, done...), behind(items, left)))
}

// behind is the number of the last item before which all are decided, when some of them are left.
func behind(items, left []deadletter.Item) int {
	if len(left) > 0 {
		return left[0].No - 1
	}
	return items[len(items)-1].No
}

// onCases does something to cases, one by one, until an operator pauses or cancels the redrive. It returns the results,
// and the items that are left.
func (r *runner) onCases(ctx context.Context, cases []deadletter.Item,
	do func(context.Context, deadletter.Item) deadletter.Item,
) (done []result, left []deadletter.Item, err error) {
	for n, i := range cases {
		now, err := r.in.store.FindRedrive(ctx, r.redrive.ID)
		if err != nil || now == nil || !now.State.Active() {
			return done, cases[n:], err
		}
		i = do(ctx, i)
		if ctx.Err() != nil { // its result may be that of the interruption
			return done, cases[n:], ctx.Err()
		}
		done = append(done, result{item: i})
	}
	return done, nil, nil
}

// record stores results, and that the items up to the number last are decided. Without results it only counts anew.
func (r *runner) record(ctx context.Context, results []result, last int) error {
	return r.update(ctx, func(ctx context.Context, tx engine.Tx, now task.Instant) (int, error) {
		if err := r.in.recordSends(ctx, tx, results, now); err != nil {
			return 0, err
		}
		// The items say what is decided, not this process: another one may have counted some of them already.
		decided, err := r.in.store.DecidedItems(ctx, tx, r.redrive.ID, r.redrive.Wave)
		return decided - r.redrive.WaveSent, errors.Join(err, r.redrive.Decided(decided-r.redrive.WaveSent, last, now))
	})
}

// end records that no item is left to be decided.
func (r *runner) end(ctx context.Context) error {
	return r.update(ctx, func(_ context.Context, _ engine.Tx, now task.Instant) (int, error) {
		return 0, r.redrive.Decided(r.redrive.WaveSize-r.redrive.WaveSent, r.redrive.Total, now)
	})
}

// update changes the redrive's row; fn returns how many items were decided.
func (r *runner) update(ctx context.Context, fn func(context.Context, engine.Tx, task.Instant) (int, error)) error {
	n := 0
	err := r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		now, err := r.reload(ctx, tx)
		if err != nil {
			return err
		}
		if n, err = fn(ctx, tx, now); err != nil {
			return err
		}
		return r.in.store.SaveRedrive(ctx, tx, r.redrive)
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
	items, err := r.in.store.ListItems(ctx, r.redrive.ID, deadletter.ItemSending, 0, sendBatch)
	if err != nil || len(items) == 0 {
		return false, err
	}
	var orphans []deadletter.Item
	for _, i := range items {
		age := r.in.now().Sub(i.At)
		if age >= orphanAfter || age <= -orphanAfter { // a clock was put back
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
	return false, r.record(ctx, b.send(ctx), orphans[len(orphans)-1].No)
}

// watchTasks records what became of the tasks of cases that were replayed: complete, or in error again. A letter that
// comes back is recorded by capture; a task does not tell, so it is looked at, once per turn.
func (r *runner) watchTasks(ctx context.Context) error {
	if r.redrive.Selection.Kind == deadletter.KindLetter {
		return nil
	}
	for above := 0; ; {
		items, err := r.in.store.ListItems(ctx, r.redrive.ID, deadletter.ItemSent, above, 1000)
		if err != nil || len(items) == 0 {
			return err
		}
		above = items[len(items)-1].No
		ended, err := r.ended(ctx, items)
		if err != nil {
			return err
		}
		if len(ended) == 0 {
			continue
		}
		if err := r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return r.in.store.SaveItems(ctx, tx, ended)
		}); err != nil {
			return err
		}
	}
}

// ended returns the items whose tasks have come to an end, with their results. A task that runs on has none yet. A task
// that is complete resolves its case.
func (r *runner) ended(ctx context.Context, items []deadletter.Item) ([]deadletter.Item, error) {
	var out []deadletter.Item
	for _, i := range items {
		if i.Kind != deadletter.KindCase {
			continue
		}
		c, err := r.in.tasks.Case(ctx, i.ID)
		if task.CodeOf(err) == task.NotFound {
			i.State, i.At, i.Message = deadletter.ItemCompleted, r.in.now(), "its case has been deleted"
			out = append(out, i)
			continue
		}
		if err != nil {
			return nil, err
		}
		tasks, err := r.in.tasks.Read().FindTasks(ctx, []task.ID{c.TaskID})
		if err != nil {
			return nil, err
		}
		switch {
		case len(tasks) == 0 || tasks[0].State.Terminal() && tasks[0].State != task.Errored:
			i.State = deadletter.ItemCompleted
			if err := r.resolve(ctx, c); err != nil {
				return nil, err
			}
		// In error later than the replay. Without the comparison a replay that is not yet visible would count as
		// returned.
		case tasks[0].State == task.Errored && tasks[0].StateAt > i.At:
			i.State, i.Group = deadletter.ItemReturned, deadletter.GroupID(c.Group)
		default:
			continue
		}
		i.At = r.in.now()
		out = append(out, i)
	}
	return out, nil
}

// resolve resolves the pending case of a task that a redrive has brought to its end.
func (r *runner) resolve(ctx context.Context, c *task.Case) error {
	if c.Status != task.CasePending {
		return nil
	}
	note := r.reason()
	_, err := r.in.tasks.UpdateCase(ctx, c.ID, task.CaseChange{Status: task.CaseResolved, Actor: r.redrive.Actor,
		Notes: &note})
	switch task.CodeOf(err) {
	case task.Conflict, task.WrongState, task.NotFound: // an operator was faster
		return nil
	}
	return err
}

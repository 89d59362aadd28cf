package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	fireBatch   = 50
	settleBatch = 500
	// planRuns bounds new plans after concurrent changes.
	planRuns = 5
	// troublePause is how long a schedule rests whose task the engine cannot take, in microseconds.
	troublePause = 5_000_000
)

// errStale: something changed between plan and transaction.
var errStale = errors.New("the schedule has changed meanwhile")

// Fire decides about due schedules, and submits their tasks. It returns how many, and whether there are more. Several
// processes may call it; one suffices.
func (s *Scheduler) Fire(ctx context.Context) (int, bool, error) {
	now := s.tasks.Now()
	settled := s.settle(ctx, now)
	if settled != nil && !due.OnlyRows(settled) {
		return 0, false, settled
	}
	list, err := s.due.Read(now, fireBatch, func(limit int) ([]Wake, error) { return s.dueWakes(ctx, now, limit) })
	if err != nil || len(list) == 0 {
		return 0, false, cmp.Or(err, settled)
	}
	err = s.due.Try(ctx, now, list, func(ctx context.Context, list []Wake) error { return s.fire(ctx, list, now) })
	return len(list), true, cmp.Or(err, settled)
}

// dueWakes also stores the time of the next one.
func (s *Scheduler) dueWakes(ctx context.Context, now task.Instant, limit int) ([]Wake, error) {
	list, err := s.store.WakeTimes(ctx, limit+1)
	s.next.Store(0)
	for i, w := range list {
		if w.At > now {
			s.next.Store(int64(w.At))
			return list[:i], err
		}
	}
	return list[:min(len(list), limit)], err
}

// NextWake is the next time for Fire as of the last call; 0 for none.
func (s *Scheduler) NextWake() task.Instant { return task.Instant(s.next.Load()) }

// settle ends the firings of ended tasks. A *due.Error lists skipped ones.
func (s *Scheduler) settle(ctx context.Context, now task.Instant) error {
	list, err := s.ended.Read(now, settleBatch, func(limit int) ([]Firing, error) {
		return s.store.EndedFirings(ctx, limit)
	})
	if err != nil || len(list) == 0 {
		return err
	}
	return s.ended.Try(ctx, now, list, func(ctx context.Context, some []Firing) error {
		return s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return s.store.SettleFirings(ctx, tx, some)
		})
	})
}

// fire uses one transaction. A schedule whose task the engine cannot take now rests.
func (s *Scheduler) fire(ctx context.Context, list []Wake, now task.Instant) error {
	ids := make([]task.ID, len(list))
	for i, w := range list {
		ids[i] = w.ID
	}
	_, err := s.carryOut(ctx, ids, KindTime, now, func(of *schedule.Schedule, times *schedule.Times,
		state schedule.State,
	) schedule.Decision {
		return schedule.Due(now, of.Spec, times, state)
	}, nil)
	code := task.CodeOf(err)
	switch {
	case errors.Is(err, errStale): // the next call decides
		return nil
	case len(ids) == 1 && (code == task.Exhausted || code == task.Unavailable):
		return s.trouble(ctx, ids[0], now, now+troublePause, err)
	}
	return err
}

// blame stores a schedule's own fault, if anything can be stored.
func (s *Scheduler) blame(ctx context.Context, w Wake, now task.Instant, why error) error {
	if s.trouble(ctx, w.ID, now, 0, why) == nil {
		return nil
	}
	return engine.Storable(ctx, s.db, why)
}

// trouble stores why a schedule does not fire, and until when it rests; 0: other nodes may fire it.
func (s *Scheduler) trouble(ctx context.Context, id task.ID, now, until task.Instant, why error) error {
	return s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		list, err := s.store.Schedules(ctx, tx, []task.ID{id})
		if err != nil || len(list) == 0 || list[0].Wake > now {
			return err
		}
		list[0].Trouble, list[0].TroubleAt, list[0].Wake = why.Error(), now, max(list[0].Wake, until)
		return s.store.SaveDecided(ctx, tx, list)
	})
}

func (s *Scheduler) carryOut(ctx context.Context, ids []task.ID, kind Kind, now task.Instant, fn decide,
	also func(context.Context, engine.Tx, []*plan, []Firing) error,
) ([]*plan, error) {
	for range planRuns {
		made, err := s.prepare(ctx, ids, kind, fn)
		if err != nil {
			return nil, err
		}
		if kind == KindTime { // the rest stays due
			if ids = idsOf(made); len(ids) == 0 {
				return nil, nil
			}
		}
		var stored []Firing
		err = s.submit(ctx, made, func(ctx context.Context, tx engine.Tx,
			submit func(context.Context, engine.Tx) ([]engine.Receipt, error),
		) error {
			current, err := s.plans(ctx, tx, ids, kind, fn)
			if err != nil {
				return err
			}
			if !same(made, current) {
				return errStale
			}
			made = current
			if err := s.cancel(ctx, tx, made); err != nil {
				return err
			}
			receipts, err := submit(ctx, tx)
			if err != nil {
				return err
			}
			if stored, err = s.record(ctx, tx, made, receipts, now); err != nil || also == nil {
				return err
			}
			return also(ctx, tx, made, stored)
		})
		if errors.Is(err, errStale) {
			continue
		}
		if err == nil {
			s.observe(made, stored, now)
		}
		return made, err
	}
	return nil, errStale
}

// submit calls then in the transaction.
func (s *Scheduler) submit(ctx context.Context, plans []*plan, then func(context.Context, engine.Tx,
	func(context.Context, engine.Tx) ([]engine.Receipt, error)) error,
) error {
	var subs []engine.Submission
	for _, p := range plans {
		for _, at := range p.decided.Begin {
			subs = append(subs, submission(p.of.Spec, at, p.kinds[at]))
		}
		for _, f := range p.decided.Fire {
			subs = append(subs, submission(p.of.Spec, f.At, p.kindOf(f)))
		}
	}
	if len(subs) == 0 {
		return s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return then(ctx, tx, func(context.Context, engine.Tx) ([]engine.Receipt, error) { return nil, nil })
		})
	}
	return s.tasks.SubmitEachWithin(ctx, subs, func(submit func(context.Context, engine.Tx) ([]engine.Receipt,
		error),
	) error {
		return s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return then(ctx, tx, submit) })
	})
}

// cancel cancels the running tasks that new firings replace, unless they have ended.
func (s *Scheduler) cancel(ctx context.Context, tx engine.Tx, plans []*plan) error {
	for _, p := range plans {
		if !p.decided.Cancel {
			continue
		}
		for some := range slices.Chunk(p.running, s.most()) {
			if err := s.cancelTasks(ctx, tx, p, some); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scheduler) cancelTasks(ctx context.Context, tx engine.Tx, p *plan, ids []task.ID) error {
	_, err := s.tasks.CancelIn(ctx, tx, ids, engine.Cancellation{Actor: "schedule",
		Reason: "the schedule " + p.of.Spec.Name + " fired again"})
	return err
}

// receipts are in the order of submit.
func (s *Scheduler) record(ctx context.Context, tx engine.Tx, plans []*plan, receipts []engine.Receipt,
	now task.Instant,
) ([]Firing, error) {
	var added, changed []Firing
	var skips []Skip
	var moved []*schedule.Schedule
	var refusal error               // the last one
	next := func(f Firing) Firing { // with its receipt
		r := receipts[0]
		receipts = receipts[1:]
		if f.State, f.Task, f.SubmittedAt = Running, r.ID, now; r.Err == nil && !r.Created {
			r.Err = anothersTask(r)
		}
		if r.Err != nil {
			f.State, f.Task, f.SubmittedAt, f.Error = Refused, task.ID{}, 0, reasonOf(r.Err)
			refusal = r.Err
		}
		return f
	}
	for _, p := range plans {
		p.refused, p.refusal = 0, nil
		for _, at := range p.decided.Begin {
			changed = append(changed, next(Firing{Schedule: p.of.ID, At: at, Kind: p.kinds[at], DecidedAt: now}))
		}
		put := func(f Firing) {
			if p.again[f.At] {
				changed = append(changed, f)
				return
			}
			added = append(added, f)
		}
		for _, f := range p.decided.Fire {
			made := next(Firing{Schedule: p.of.ID, At: f.At, Kind: p.kindOf(f), DecidedAt: now})
			if put(made); made.State == Refused {
				p.refused, p.refusal = p.refused+1, refusal
			}
		}
		for _, f := range p.decided.Wait {
			put(Firing{Schedule: p.of.ID, At: f.At, Kind: p.kindOf(f), State: Waiting, DecidedAt: now})
		}
		for _, skip := range p.decided.Skip {
			skips = append(skips, Skip{Schedule: p.of.ID, Skip: skip, DecidedAt: now})
		}
		if p.kind == KindTime {
			p.move()
		} else if len(p.decided.Wait) > 0 && (p.of.Wake == 0 || p.of.Wake > now) {
			p.of.Wake = now + 1_000_000
		}
		moved = append(moved, p.of)
	}
	if err := s.store.AddFirings(ctx, tx, added); err != nil {
		return nil, err
	}
	if err := s.store.SaveFirings(ctx, tx, changed); err != nil {
		return nil, err
	}
	if err := s.store.AddSkips(ctx, tx, skips); err != nil {
		return nil, err
	}
	if err := s.store.SaveDecided(ctx, tx, moved); err != nil {
		return nil, err
	}
	stored := append(added, changed...)
	return stored, s.tell(ctx, tx, plans, stored, now)
}

// A submission may be answered with another owner's task, which must not be cancelled or waited for.
func anothersTask(r engine.Receipt) error {
	message := "names the task %s, which guards the unique key"
	if r.Unique != nil && r.Unique.Outcome == engine.UniqueSuperseded {
		message = "names the task %s, which took the unique key in the same transaction"
	}
	return &task.Error{Code: task.Conflict, Message: "another task has the unique key",
		Problems: []task.Problem{{Location: "/unique", Message: fmt.Sprintf(message, r.ID)}}}
}

func (p *plan) move() {
	p.of.Decided, p.of.Wake = p.decided.Decided, p.decided.Wake
	if p.decided.Resume {
		p.of.Pause = nil
	}
	if !p.decided.Idle() {
		p.of.Trouble, p.of.TroubleAt = "", 0
	}
}

func reasonOf(err error) string {
	var e *task.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if len(e.Problems) == 0 {
		return e.Message
	}
	return fieldOf(e.Problems[0].Location)[1:] + " " + e.Problems[0].Message
}

func (s *Scheduler) observe(plans []*plan, stored []Firing, now task.Instant) {
	names := map[task.ID]string{}
	for _, p := range plans {
		names[p.of.ID] = p.of.Spec.Namespace
		for _, skip := range p.decided.Skip {
			s.opts.Observer.Skipped(p.of.Spec.Namespace, skip.Reason, skip.Count)
		}
	}
	for _, f := range stored {
		switch f.State {
		case Running:
			s.opts.Observer.Fired(names[f.Schedule], f.Kind, now.Sub(f.At))
		case Refused:
			s.opts.Observer.Refused(names[f.Schedule])
		}
	}
}

const (
	keptFirings = 1000
	keptSkips   = 200
	tidyBatch   = 100
)

// Tidy deletes surplus firings of some schedules in each call.
func (s *Scheduler) Tidy(ctx context.Context) (int, bool, error) {
	ids, err := s.store.AnySchedules(ctx, s.tidy, tidyBatch)
	if err != nil {
		return 0, false, err
	}
	if s.tidy = (task.ID{}); len(ids) == tidyBatch {
		s.tidy = ids[len(ids)-1]
	}
	if len(ids) == 0 {
		return 0, false, nil
	}
	return 0, false, s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return s.store.TrimFirings(ctx, tx, ids, keptFirings, keptSkips)
	})
}

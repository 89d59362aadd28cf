package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Run submits the task of a schedule now, even if it is paused. overlap is the policy, "" for the schedule's.
// Conflict: the policy skips it, because a task runs.
func (s *Scheduler) Run(ctx context.Context, namespace, name string, overlap schedule.Overlap, by By) (*Firing, error) {
	by, err := signed(ctx, by)
	if err == nil {
		err = overlapFault(overlap)
	}
	if err != nil {
		return nil, err
	}
	of, err := s.found(ctx, namespace, name, by)
	if err != nil {
		return nil, err
	}
	now := s.tasks.Now()
	var ran Firing
	_, err = s.carryOut(ctx, []task.ID{of.ID}, KindRun, now, admitting(overlap, []task.Instant{now}),
		func(ctx context.Context, tx engine.Tx, plans []*plan, made []Firing) error {
			if len(plans) == 0 {
				return noSchedule(name)
			}
			i := slices.IndexFunc(made, func(f Firing) bool { return f.At == now })
			switch {
			case i < 0 && len(plans[0].known) > 0:
				return &task.Error{Code: task.Conflict, Message: "the schedule has fired at this very moment",
					Hint: "send it again"}
			case i < 0:
				return &task.Error{Code: task.Conflict, Message: "it was not run: a task of the schedule runs already",
					Hint: "wait for it, or name another policy of overlap"}
			case made[i].State == Refused:
				code := task.Invalid
				if task.CodeOf(plans[0].refusal) == task.Conflict { // with the task of its unique key
					code = task.Conflict
				}
				return &task.Error{Code: code, Message: "the task was refused: its " + made[i].Error}
			}
			ran = made[i]
			return s.act(ctx, tx, act{kind: "run_schedule", by: by, of: of.Spec})
		})
	if err != nil {
		return nil, stale(err)
	}
	if ran.State == Running {
		ran.Outcome = task.Pending
	}
	return &ran, nil
}

func admitting(overlap schedule.Overlap, times []task.Instant) decide {
	return func(of *schedule.Schedule, _ *schedule.Times, state schedule.State) schedule.Decision {
		policy := overlap
		if policy == "" {
			policy = of.Spec.Overlap
		}
		d := schedule.Admit(policy, state, times)
		d.Decided = of.Decided
		return d
	}
}

func stale(err error) error {
	if errors.Is(err, errStale) {
		return &task.Error{Code: task.Conflict, Message: "the schedule fires at the same time", Hint: "send it again"}
	}
	return err
}

func overlapFault(o schedule.Overlap) error {
	if o == "" || slices.Contains(schedule.Overlaps, o) {
		return nil
	}
	return &task.Error{Code: task.Invalid, Message: "nothing was changed",
		Problems: []task.Problem{{Location: "/overlap", Message: fmt.Sprintf("must be one of %v", schedule.Overlaps)}}}
}

func (s *Scheduler) found(ctx context.Context, namespace, name string, by By) (*schedule.Schedule, error) {
	if !nameable(ctx, namespace, name) {
		return nil, noSchedule(name)
	}
	of, err := s.store.FindSchedule(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if of == nil {
		return nil, noSchedule(name)
	}
	return of, by.expected(of.Version)
}

// BackfillRequest is a request for the times of a range.
type BackfillRequest struct {
	From, Until task.Instant     // inclusive
	Overlap     schedule.Overlap // default: the schedule's
	Dry         bool             // no effect, only the answer
}

// Backfilled is the result of a backfill.
type Backfilled struct {
	Times                          []task.Instant
	Fired, Waiting, Skipped, Known int
	Refused                        int
}

const backfillBatch = 100

// Backfill fires past times of a range in order, by the overlap policy. Times fire once, so it may be repeated after
// an error. Invalid: the range has too many times, or is not decided yet at its end.
func (s *Scheduler) Backfill(ctx context.Context, namespace, name string, req BackfillRequest, by By) (*Backfilled,
	error,
) {
	by, err := signed(ctx, by)
	if err == nil {
		err = overlapFault(req.Overlap)
	}
	if err != nil {
		return nil, err
	}
	of, err := s.found(ctx, namespace, name, by)
	if err != nil {
		return nil, err
	}
	times, err := s.timesOf(of)
	if err != nil {
		return nil, err
	}
	out := &Backfilled{}
	if out.Times, err = s.rangeOf(of, times, req); err != nil || req.Dry {
		return out, err
	}
	size := max(1, min(backfillBatch, s.most()-1)) // a waiting one may begin too
	for i := 0; i < len(out.Times); i += size {
		last := i+size >= len(out.Times)
		batch := out.Times[i:min(i+size, len(out.Times))]
		var skipped, known int
		plans, err := s.carryOut(ctx, []task.ID{of.ID}, KindBackfill, s.tasks.Now(), admitting(req.Overlap, batch),
			func(ctx context.Context, tx engine.Tx, plans []*plan, made []Firing) error {
				if len(plans) == 0 {
					return noSchedule(name)
				}
				if skipped, known = 0, len(plans[0].known); !last {
					return nil
				}
				return s.act(ctx, tx, act{kind: "backfill_schedule", by: by, of: of.Spec, input: struct {
					From  string `json:"from"`
					Until string `json:"until"`
					Times int    `json:"times"`
				}{stamp(req.From), stamp(req.Until), len(out.Times)}})
			})
		if err != nil {
			return nil, stale(err)
		}
		for _, skip := range plans[0].decided.Skip {
			skipped += skip.Count
		}
		out.Fired, out.Waiting = out.Fired+len(plans[0].decided.Fire), out.Waiting+len(plans[0].decided.Wait)
		out.Skipped, out.Known = out.Skipped+skipped, out.Known+known
		out.Refused += plans[0].refused
	}
	out.Fired -= out.Refused
	return out, nil
}

func (s *Scheduler) rangeOf(of *schedule.Schedule, times *schedule.Times, req BackfillRequest) ([]task.Instant, error) {
	bad := func(at, message string) error {
		return &task.Error{Code: task.Invalid, Message: "nothing was backfilled",
			Problems: []task.Problem{{Location: at, Message: message}}}
	}
	for at, value := range map[string]task.Instant{"/from": req.From, "/until": req.Until} {
		if fault := task.InstantFault(value); fault != "" || value == 0 {
			return nil, bad(at, "must be a time")
		}
	}
	switch {
	case req.Until < req.From:
		return nil, bad("/until", "is before from")
	case req.Until > of.Decided && times.Next(of.Decided) != 0 && times.Next(of.Decided) <= req.Until:
		return nil, bad("/until", "is after "+stamp(of.Decided)+": later times of the schedule fire by themselves")
	}
	list := times.Between(req.From-1, req.Until, schedule.MaxBackfill+1)
	if len(list) > schedule.MaxBackfill {
		return nil, bad("/until", fmt.Sprintf("the range has more than %d times; backfill it in parts", schedule.MaxBackfill))
	}
	return list, nil
}

func stamp(at task.Instant) string { return at.Time().Format("2006-01-02T15:04:05Z") }

package scheduler

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Pause keeps a schedule from firing, until a time or Resume; running tasks continue. Pausing again changes reason
// and end.
func (s *Scheduler) Pause(ctx context.Context, namespace, name string, until task.Instant, by By) (*schedule.Schedule,
	error,
) {
	if fault := task.InstantFault(until); fault != "" || until != 0 && until <= s.tasks.Now() {
		if fault == "" {
			fault = "must be in the future"
		}
		return nil, &task.Error{Code: task.Invalid, Message: "nothing was changed",
			Problems: []task.Problem{{Location: "/until", Message: fault}}}
	}
	return s.change(ctx, namespace, name, by, func(of *schedule.Schedule, by By, now task.Instant) (act, error) {
		of.Pause = &schedule.Pause{Actor: by.Actor, Reason: by.Reason, At: now, Until: until}
		of.Wake = until
		return act{kind: "pause_schedule", input: until.Ptr()}, nil
	})
}

func (s *Scheduler) change(ctx context.Context, namespace, name string, by By,
	fn func(of *schedule.Schedule, by By, now task.Instant) (act, error),
) (changed *schedule.Schedule, err error) {
	if by, err = signed(ctx, by); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		of, err := s.locked(ctx, tx, namespace, name, by)
		if err != nil {
			return err
		}
		now := s.tasks.Now()
		a, err := fn(of, by, now)
		if err != nil {
			return err
		}
		of.Version, of.UpdatedAt = of.Version+1, now
		if err := s.store.SaveSchedule(ctx, tx, of); err != nil {
			return err
		}
		changed = of
		a.by, a.of = by, of.Spec
		return s.act(ctx, tx, a)
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// Resume ends the pause of a schedule, and skips its times. WrongState: it is not paused.
func (s *Scheduler) Resume(ctx context.Context, namespace, name string, by By) (*schedule.Schedule, error) {
	var skips []Skip
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	var resumed *schedule.Schedule
	err = s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		of, err := s.locked(ctx, tx, namespace, name, by)
		if err != nil {
			return err
		}
		if of.Pause == nil {
			return task.Errorf(task.WrongState, "the schedule %q is not paused", name)
		}
		times, err := s.timesOf(of)
		if err != nil {
			return err
		}
		now, was := s.tasks.Now(), of.Pause
		d := schedule.Resume(now, times, schedule.State{Decided: of.Decided, Pause: of.Pause})
		skips = nil
		for _, skip := range d.Skip {
			skips = append(skips, Skip{Schedule: of.ID, Skip: skip, DecidedAt: now})
		}
		of.Decided, of.Pause, of.Version, of.UpdatedAt = d.Decided, nil, of.Version+1, now
		// Firings may have waited since before the pause.
		of.Wake = now
		if err := s.store.AddSkips(ctx, tx, skips); err != nil {
			return err
		}
		if err := s.store.SaveSchedule(ctx, tx, of); err != nil {
			return err
		}
		if err := s.opts.Tell(ctx, tx, missed(of, d.Skip, now)...); err != nil {
			return err
		}
		resumed = of
		return s.act(ctx, tx, act{kind: "resume_schedule", by: by, of: of.Spec, before: was})
	})
	if err != nil {
		return nil, err
	}
	for _, skip := range skips {
		s.opts.Observer.Skipped(namespace, skip.Reason, skip.Count)
	}
	return resumed, nil
}

// Remove deletes a schedule with its firings, not their tasks.
func (s *Scheduler) Remove(ctx context.Context, namespace, name string, by By) error {
	by, err := signed(ctx, by)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		of, err := s.locked(ctx, tx, namespace, name, by)
		if err != nil {
			return err
		}
		if err := s.store.DropSchedule(ctx, tx, of.ID); err != nil {
			return err
		}
		return s.act(ctx, tx, act{kind: "remove_schedule", by: by, of: of.Spec, before: shown(of)})
	})
}

package kernel

import (
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

func (u *Unit) End(t *task.Task, actor, reason, cause string) error {
	steps, err := u.Rows.Siblings(Family{Task: t.ID})
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.State.Terminal() {
			continue
		}
		if err := u.interrupt(Work{s, t}); err != nil {
			return err
		}
	}
	t.Meta.CancelledBy, t.Meta.CancelReason = actor, reason
	was := t.Cancel(u.Now)
	u.Rows.ChangedTask(t)
	u.Left(t, was, cause)
	return nil
}

func (u *Unit) interrupt(w Work) error {
	from := w.Step.State
	u.EndLease(w.Step, task.StepCancelled)
	if err := w.Step.Cancel(u.Now); err != nil {
		return err
	}
	u.Moved(w, from)
	return nil
}

func (u *Unit) EndLease(s *task.Step, after task.StepState) {
	if !s.State.Leased() {
		return
	}
	a := s.EndAttempt(u.Now, task.Interrupted, nil)
	a.After = after
	u.Records.Attempts = append(u.Records.Attempts, a)
	u.Observed.ended(Work{s, u.Rows.Tasks[s.TaskID]}, a)
}

// GiveUp puts a task in error that has taken too long, with its steps that run, wait for a worker or wait for a time.
// An operator repairs it step by step. An act of the system records each step's wait and the cause; earlier failures
// stay the last errors. Steps that wait for parents continue after the repair.
func GiveUp(u *Unit, t *task.Task, f *task.Failure, cause string) error {
	steps, err := u.Rows.Siblings(Family{Task: t.ID})
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Queue == task.NoQueue {
			continue
		}
		if err := abandon(u, Work{s, t}, f, cause); err != nil {
			return err
		}
	}
	if taken, err := u.E.Points.taskGivenUp(u, t); taken || err != nil {
		return err
	}
	was := t.TimeOut(u.Now)
	u.Verdicts.Err(t)
	u.Rows.ChangedTask(t)
	u.Left(t, was, cause)
	return nil
}

// GivenUp is the data of the act on a step (task.ActGiveUp): its wait.
type GivenUp struct {
	ReadyAt ActTime `json:"ready_at,omitzero"`
	DueAt   ActTime `json:"due_at,omitzero"`
}

// abandon puts an open step in error. A step without an attempt has its wait in the act.
func abandon(u *Unit, w Work, f *task.Failure, cause string) error {
	s := w.Step
	var waited GivenUp
	from := s.State
	switch {
	case s.Queue == task.Timers:
		waited.DueAt = ActTime(s.Key)
	case s.State == task.StepEnqueued:
		waited.ReadyAt = ActTime(s.ReadyAt)
	}
	data, err := json.Marshal(waited)
	if err != nil {
		return fmt.Errorf("encode what was given up: %w", err)
	}
	if s.State == task.StepPending { // scheduled, never begun: make it repairable
		if err := s.Enqueue(u.Now, u.Order); err != nil {
			return err
		}
	}
	attempt := cutOff(s, u.Now, f)
	if err := s.Exhaust(u.Now); err != nil {
		return err
	}
	if from.Leased() {
		u.ended(w, from, attempt)
	} else {
		u.Moved(w, from)
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: s.TaskID, StepID: s.ID, Kind: task.ActGiveUp,
		Actor: System, Reason: cause,
		From: string(from), To: string(s.State), Data: data})
	return nil
}

// cutOff is a failure only without an earlier one: operators must see the real last error.
func cutOff(s *task.Step, now task.Instant, f *task.Failure) task.Attempt {
	switch {
	case s.State == task.StepAssigned:
		return s.EndAttempt(now, task.NotStarted, nil)
	case s.Attempts > 1:
		return s.EndAttempt(now, task.TimedOut, nil)
	default:
		return s.EndAttempt(now, task.TimedOut, f)
	}
}

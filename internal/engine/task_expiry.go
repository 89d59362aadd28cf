package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// giveUp puts a task in error that has taken too long, with its steps that run, wait for a worker or wait for a time.
// An operator repairs it step by step. An act of the system records for each such step what was given up, and why;
// earlier failures of the steps stay their last errors.
// Steps that wait for their parents stay pending: they continue when the others are repaired.
func giveUp(u *unit, t *task.Task, f *task.Failure, cause string) error {
	steps, err := u.rows.siblings(Family{Task: t.ID})
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
	if begins, err := (compensation{u}).decide(t); begins || err != nil {
		return err
	}
	was := t.TimeOut(u.now)
	u.verdicts.err(t)
	u.rows.changedTask(t)
	u.left(t, was, cause)
	return nil
}

// GivenUp is the data of the act on a step (task.ActGiveUp): what the step waited for.
type GivenUp struct {
	ReadyAt ActTime `json:"ready_at,omitzero"` // since when it was ready
	DueAt   ActTime `json:"due_at,omitzero"`   // when it would have become ready
}

// ActTime is a time in the data of an act, in the format that the database writes.
type ActTime task.Instant

// MarshalText implements encoding.TextMarshaler.
func (t ActTime) MarshalText() ([]byte, error) {
	return task.Instant(t).Time().AppendFormat(nil, actTime), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *ActTime) UnmarshalText(text []byte) error {
	at, err := time.Parse(actTime, string(text))
	*t = ActTime(task.At(at))
	return err
}

// actTime is the layout of an ActTime: UTC, in microseconds, so that texts sort like times.
const actTime = "2006-01-02T15:04:05.000000Z"

// abandon puts an open step in error because its task has taken too long.
// A step that waits for a time, or is ready, has no attempt to record; its act has what it waited for.
func abandon(u *unit, w Work, f *task.Failure, cause string) error {
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
		if err := s.Enqueue(u.now, u.order); err != nil {
			return err
		}
	}
	attempt := cutOff(s, u.now, f)
	if err := s.Exhaust(u.now); err != nil {
		return err
	}
	if from.Leased() {
		u.ended(w, from, attempt)
	} else {
		u.moved(w, from)
	}
	u.records.acts = append(u.records.acts, task.Act{At: u.now, TaskID: s.TaskID, StepID: s.ID, Kind: task.ActGiveUp,
		Actor: System, Reason: cause,
		From: string(from), To: string(s.State), Data: data})
	return nil
}

// cutOff is the record of a lease that ends because the task of its step has taken too long. It counts as a failure
// only where the step had no other failure: the last error stays the one that an operator must look at.
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

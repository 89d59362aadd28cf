package task

import "time"

// Queues that are not routes. A step that needs attention is in exactly one queue, sorted by Key: ready steps on
// their route by sort key, waiting and scheduled ones by due time, leased ones by the time of the next check. One
// index serves all three. Parking queues are far below zero; see park.go.
const (
	NoQueue int64 = 0
	Timers  int64 = -1 // Key is the Instant at which the step becomes ready
	Leases  int64 = -2 // Key is the Instant of the lease's next check
	Outside int64 = -3 // steps that wait for an event outside of workers, without a time
)

// Step is a worker's unit of work. Only its methods change its state, and each checks the transition table.
type Step struct {
	ID          ID
	TaskID      ID
	Ordinal     int
	DefID       int64
	RouteID     int64
	Priority    int
	State       StepState
	OpenParents int

	Queue int64
	Key   int64

	Attempts    int // executions begun since the last reset
	MaxAttempts int
	Timeout     time.Duration

	// Token is the number of the last lease, increasing within the step.
	Token    int64
	WorkerNo int64

	ReadyAt    Instant
	AssignedAt Instant
	StartedAt  Instant
	FinishedAt Instant
	LeaseUntil Instant

	Progress int
	Note     string
	Result   []byte
	Unread   string
}

// A transition outside the table is a bug. Methods call move first, so that a refused one leaves the step unchanged.
func (s *Step) move(to StepState) error {
	if !s.State.Can(to) {
		return Errorf(WrongState, "a step that is %s cannot become %s", s.State, to)
	}
	s.State = to
	return nil
}

// Enqueue makes the step ready on its route, at its place in the order.
func (s *Step) Enqueue(now Instant, by Scheduling) error {
	if err := s.move(StepEnqueued); err != nil {
		return err
	}
	s.ReadyAt, s.LeaseUntil = now, 0
	s.Queue, s.Key = s.RouteID, by.Key(s.Priority, now)
	return nil
}

// Age moves a ready step to the place it would have if it had become ready at since.
func (s *Step) Age(now, since Instant, by Scheduling) {
	if s.OnRoute() {
		s.Key = by.KeyAt(s.Priority, min(since, s.ReadyAt), now)
	}
}

// Rekey moves a ready step to its current place in the order, and reports a change. The wait added by Age still
// counts; for a step from the order Aging only in part.
func (s *Step) Rekey(now Instant, by Scheduling) bool {
	if !s.OnRoute() {
		return false
	}
	key := by.KeyAt(s.Priority, min(keyTime(s.Key), s.ReadyAt), now)
	if key == s.Key {
		return false
	}
	s.Key = key
	return true
}

// Schedule makes a pending step without open parents wait for a time: its task's run_at, or its next check.
func (s *Step) Schedule(at Instant) { s.Queue, s.Key = Timers, int64(at) }

// What "not begun" means for a step. A reset zeroes the attempts and makes a step pending again, so neither tells.
//
//	Untouched   never decided on
//	Scheduled   pending, and waits for a time only
//	!Had        no worker has had it, so nothing was done that could be undone
//	!Begun      nothing depends on it yet: its task may be replaced as if it had not been submitted

// Untouched reports whether the step was never decided on.
func (s *Step) Untouched() bool { return s.State == StepPending && s.Queue == NoQueue && s.Token == 0 }

// Had reports whether a worker has had the step, or an attempt of it was made without one, since the last reset.
func (s *Step) Had() bool { return s.Token > 0 || s.Attempts > 0 }

// Begun reports whether the step was decided on, or a worker has had it. One that is pending, and was ready before, has
// been reset.
func (s *Step) Begun() bool {
	switch s.State {
	case StepPending:
		return s.Had() || s.ReadyAt != 0
	case StepEnqueued:
		return s.Had()
	default:
		return true
	}
}

// Scheduled reports whether the step is pending and waits for a time only: after a reset, for its task's run_at, or for
// its next check.
func (s *Step) Scheduled() bool { return s.State == StepPending && s.Queue == Timers }

// Wait lets the timers enqueue the step at until.
func (s *Step) Wait(until Instant) error {
	if err := s.move(StepWaitingForRetry); err != nil {
		return err
	}
	s.LeaseUntil = 0
	s.Queue, s.Key = Timers, int64(until)
	return nil
}

// Assign leases the step to a worker, which must start it before startBy.
func (s *Step) Assign(worker int64, now, startBy Instant) error {
	if s.Parked() {
		return errParked(s)
	}
	if err := s.move(StepAssigned); err != nil {
		return err
	}
	s.hold(worker, now)
	s.LeaseUntil = startBy
	s.Queue, s.Key = Leases, int64(startBy)
	return nil
}

// Claim leases a ready step and begins the attempt in one transition.
func (s *Step) Claim(worker int64, now, leaseUntil Instant) error {
	// The table lets an assigned step begin, but only its own worker may do that.
	if s.State != StepEnqueued {
		return Errorf(WrongState, "a step that is %s cannot be claimed", s.State)
	}
	if s.Parked() {
		return errParked(s)
	}
	s.hold(worker, now)
	return s.begin(now, leaseUntil)
}

func (s *Step) hold(worker int64, now Instant) {
	s.Token++
	s.WorkerNo = worker
	s.AssignedAt = now
	s.StartedAt, s.FinishedAt = 0, 0
	s.Progress, s.Note = 0, ""
}

// Begin starts the attempt of an assigned step.
func (s *Step) Begin(now, leaseUntil Instant) error {
	if s.State != StepAssigned {
		return Errorf(WrongState, "a step that is %s cannot be started", s.State)
	}
	return s.begin(now, leaseUntil)
}

func (s *Step) begin(now, leaseUntil Instant) error {
	if err := s.move(StepInProgress); err != nil {
		return err
	}
	s.Attempts++
	s.StartedAt = now
	s.Renew(leaseUntil)
	return nil
}

// Renew extends the lease. The next check is at its end or at the attempt's time-out, whichever is first.
func (s *Step) Renew(leaseUntil Instant) {
	s.LeaseUntil = leaseUntil
	key := leaseUntil
	if d := s.Deadline(); d != 0 && d < key {
		key = d
	}
	s.Queue, s.Key = Leases, int64(key)
}

// LookAt sets the next check of the lease.
func (s *Step) LookAt(at Instant) { s.Queue, s.Key = Leases, int64(at) }

// Deadline returns the time-out of the running attempt, 0 without one.
func (s *Step) Deadline() Instant {
	if s.State != StepInProgress || s.Timeout <= 0 {
		return 0
	}
	return s.StartedAt.Add(s.Timeout)
}

// HeldUnder reports whether token is the current lease's.
func (s *Step) HeldUnder(token int64) bool { return s.State.Leased() && s.Token == token }

func (s *Step) leave() { s.Queue, s.Key, s.LeaseUntil = NoQueue, 0, 0 }

// Succeed completes the step with a result.
func (s *Step) Succeed(now Instant, result []byte) error {
	return s.settle(StepComplete, now, result)
}

// Exhaust puts the step in error permanently.
func (s *Step) Exhaust(now Instant) error { return s.settle(StepErrored, now, nil) }

// Cancel cancels the step.
func (s *Step) Cancel(now Instant) error { return s.settle(StepCancelled, now, nil) }

// Resolve lets dependants run without a result of the step.
func (s *Step) Resolve(now Instant) error { return s.settle(StepResolvedManually, now, nil) }

func (s *Step) settle(to StepState, now Instant, result []byte) error {
	if err := s.move(to); err != nil {
		return err
	}
	s.leave()
	s.FinishedAt = now
	s.Result = result
	return nil
}

// Postpone ends the attempt without settling the step, which waits until a time (0: returns to its route
// immediately).
func (s *Step) Postpone(now, until Instant, by Scheduling) error {
	back := func() error { return s.Enqueue(now, by) }
	if until > now {
		back = func() error { return s.Wait(until) }
	}
	if err := back(); err != nil {
		return err
	}
	s.FinishedAt = now
	return nil
}

// Charge counts an attempt that never began.
func (s *Step) Charge() { s.Attempts++ }

// Uncharge reverts the attempt counted by Begin.
func (s *Step) Uncharge() {
	if s.State == StepInProgress && s.Attempts > 0 {
		s.Attempts--
	}
}

// Skip skips the step; dependants may run.
func (s *Step) Skip(now Instant) error { return s.settle(StepSkipped, now, nil) }

// Await makes the step wait for an event outside of workers. The timers check it at until; 0: never.
func (s *Step) Await(now, until Instant) error {
	if err := s.move(StepWaiting); err != nil {
		return err
	}
	s.ReadyAt, s.LeaseUntil = now, 0
	if s.Queue, s.Key = Outside, 0; until > 0 {
		s.Queue, s.Key = Timers, int64(until)
	}
	return nil
}

// Reset zeroes the attempts of a failed or waiting step and makes it pending and due.
func (s *Step) Reset(now Instant) error {
	if err := s.Repeat(now); err != nil {
		return err
	}
	s.Attempts = 0
	return nil
}

// Repeat is Reset with the remaining attempts, at least one.
func (s *Step) Repeat(now Instant) error {
	if s.State != StepErrored && s.State != StepWaitingForRetry {
		return Errorf(WrongState, "a step that is %s cannot be reset for retry", s.State)
	}
	if err := s.move(StepPending); err != nil {
		return err
	}
	s.leave()
	s.FinishedAt = 0
	s.Schedule(now)
	return nil
}

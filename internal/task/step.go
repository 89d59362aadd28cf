package task

import "time"

// Queues that are not routes. A step that somebody will have to look at is in
// exactly one queue, sorted by Key: ready steps on their route by ordering key,
// waiting and scheduled ones by the time they are due, leased ones by the time to
// look after them. One index serves all three.
const (
	NoQueue int64 = 0
	Timers  int64 = -1 // Key is the Instant at which the step becomes ready
	Leases  int64 = -2 // Key is the Instant at which the lease has to be looked at
)

// Step is the unit handed to a worker. Its methods are the only way its state
// changes; each one checks the transition table.
type Step struct {
	ID          ID
	TaskID      ID
	Ordinal     int // place in the template, counted from 1
	DefID       int64
	RouteID     int64
	Priority    int
	State       StepState
	OpenParents int // parents that are not satisfied yet

	Queue int64
	Key   int64

	Attempts    int // executions begun since the last reset
	MaxAttempts int
	Timeout     time.Duration

	// Token is the number of the last lease. It grows with every hand-out and is
	// never reused within a step.
	Token    int64
	WorkerNo int64

	ReadyAt    Instant // last time it was enqueued
	AssignedAt Instant
	StartedAt  Instant
	FinishedAt Instant // last attempt ended, or the step was settled
	LeaseUntil Instant // 0 when nobody holds it

	Progress int    // percent
	Note     string // the worker's status message
	Result   []byte // JSON
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// move changes the state. A transition outside the table is a bug; the methods
// move first, so that a refused one leaves the step as it was.
func (s *Step) move(to StepState) error {
	if !s.State.Can(to) {
		return Errorf(WrongState, "a step that is %s cannot become %s", s.State, to)
	}
	s.State = to
	return nil
}

// Enqueue makes the step ready on its route, at the end of those that the order
// puts before it.
func (s *Step) Enqueue(now Instant, by Scheduling) error {
	if err := s.move(StepEnqueued); err != nil {
		return err
	}
	s.ReadyAt, s.LeaseUntil = now, 0
	s.Queue, s.Key = s.RouteID, by.Key(s.Priority, now)
	return nil
}

// Age gives a ready step the place that it would have if it had been ready since a
// time.
func (s *Step) Age(now, since Instant, by Scheduling) {
	if s.State == StepEnqueued {
		s.Key = by.KeyAt(s.Priority, min(since, s.ReadyAt), now)
	}
}

// Rekey gives a ready step the place that the order gives it at a time. It
// reports whether that is another one. The wait that Age gave a step counts on; of a
// step that comes from the order Aging it does so only in part.
func (s *Step) Rekey(now Instant, by Scheduling) bool {
	key := by.KeyAt(s.Priority, min(keyTime(s.Key), s.ReadyAt), now)
	if s.State != StepEnqueued || key == s.Key {
		return false
	}
	s.Key = key
	return true
}

// Schedule lets a pending step without open parents wait for its task's run_at.
func (s *Step) Schedule(at Instant) { s.Queue, s.Key = Timers, int64(at) }

// Scheduled reports whether the step has not begun and needs nothing but a time to
// come: it was reset, or its task's run_at is still to come.
func (s *Step) Scheduled() bool { return s.State == StepPending && s.Queue == Timers }

// Wait parks the step until a time, after which it is enqueued.
func (s *Step) Wait(until Instant) error {
	if err := s.move(StepWaitingForRetry); err != nil {
		return err
	}
	s.LeaseUntil = 0
	s.Queue, s.Key = Timers, int64(until)
	return nil
}

// Assign hands the step to a worker, which has to start it before startBy.
func (s *Step) Assign(worker int64, now, startBy Instant) error {
	if err := s.move(StepAssigned); err != nil {
		return err
	}
	s.hold(worker, now)
	s.LeaseUntil = startBy
	s.Queue, s.Key = Leases, int64(startBy)
	return nil
}

// Claim hands a ready step to a worker and begins the attempt in one move.
func (s *Step) Claim(worker int64, now, leaseUntil Instant) error {
	// Only a step that nobody holds: the table lets an assigned one begin, but
	// that is the business of the worker it is assigned to.
	if s.State != StepEnqueued {
		return Errorf(WrongState, "a step that is %s cannot be claimed", s.State)
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

// Begin starts the attempt of a step that was assigned.
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

// Renew extends the lease. It is looked after at the end of the lease or of the
// attempt's time-out, whichever is first.
func (s *Step) Renew(leaseUntil Instant) {
	s.LeaseUntil = leaseUntil
	key := leaseUntil
	if d := s.Deadline(); d != 0 && d < key {
		key = d
	}
	s.Queue, s.Key = Leases, int64(key)
}

// LookAt has the lease looked at again at a time, whatever its deadline says.
func (s *Step) LookAt(at Instant) { s.Queue, s.Key = Leases, int64(at) }

// Deadline is when the attempt in progress times out, 0 when none runs.
func (s *Step) Deadline() Instant {
	if s.State != StepInProgress || s.Timeout <= 0 {
		return 0
	}
	return s.StartedAt.Add(s.Timeout)
}

// HeldUnder reports whether the lease with the token is in force.
func (s *Step) HeldUnder(token int64) bool { return s.State.Leased() && s.Token == token }

// leave takes the step out of its queue and ends its lease.
func (s *Step) leave() { s.Queue, s.Key, s.LeaseUntil = NoQueue, 0, 0 }

// Succeed completes the step with a result.
func (s *Step) Succeed(now Instant, result []byte) error {
	return s.settle(StepComplete, now, result)
}

// Exhaust puts the step in error: it failed for good.
func (s *Step) Exhaust(now Instant) error { return s.settle(StepErrored, now, nil) }

// Cancel makes the step cancelled.
func (s *Step) Cancel(now Instant) error { return s.settle(StepCancelled, now, nil) }

// Resolve lets dependants go on without a result.
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

// Postpone ends the attempt without settling the step: it waits until a time
// (0: goes back to its route at once).
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

// Charge counts an attempt that was never begun.
func (s *Step) Charge() { s.Attempts++ }

// Uncharge takes back the attempt that Begin counted: it ended through no fault
// of the step.
func (s *Step) Uncharge() {
	if s.State == StepInProgress && s.Attempts > 0 {
		s.Attempts--
	}
}

// Reset zeroes the attempts of a failed or waiting step and makes it pending
// again; it is due at once, and enqueued by the timers like any other.
func (s *Step) Reset(now Instant) error {
	if err := s.Repeat(now); err != nil {
		return err
	}
	s.Attempts = 0
	return nil
}

// Repeat is Reset with the attempts left as they are: the step runs those that it
// has left, and one if it has none.
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

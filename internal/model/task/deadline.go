package task

import "time"

// A task has up to two deadlines: by its template's maximum duration, and its submission's (Meta.Deadline).
// DeadlineAt is the nearer one.

// BeginDeadline sets the deadline for a maximum duration (0: none) from since.
func (t *Task) BeginDeadline(since Instant, duration time.Duration) {
	t.DeadlineAt = t.Meta.Deadline
	if duration > 0 {
		t.DeadlineAt = earlier(since.Add(duration), t.Meta.Deadline)
	}
}

// RenewDeadline is BeginDeadline for a repair, which cancels a past deadline of the submission.
func (t *Task) RenewDeadline(now Instant, duration time.Duration) {
	t.BeginDeadline(now, duration)
	if t.DeadlineAt != 0 && t.DeadlineAt <= now {
		t.DeadlineAt = 0
		if duration > 0 {
			t.DeadlineAt = now.Add(duration)
		}
	}
}

// SubmittersDeadline reports whether the submission's deadline applies.
func (t *Task) SubmittersDeadline() bool { return t.DeadlineAt != 0 && t.DeadlineAt == t.Meta.Deadline }

// HeldDeadline regards pauses: the maximum duration counts from the end of the last pause, or from now during one.
// The submission's deadline stays.
func (t *Task) HeldDeadline(l Lifecycle, steps []*Step, held HeldUntil, now Instant) Instant {
	if l.MaxDuration <= 0 || t.DeadlineAt == 0 || t.SubmittersDeadline() {
		return t.DeadlineAt
	}
	since, paused := heldSince(t.DeadlineAt.Add(-l.MaxDuration), steps, held)
	if paused != nil {
		since = now
	}
	return earlier(since.Add(l.MaxDuration), t.Meta.Deadline)
}

func earlier(a, b Instant) Instant {
	if b != 0 && b < a {
		return b
	}
	return a
}

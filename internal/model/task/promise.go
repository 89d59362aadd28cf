package task

import (
	"math"
	"time"
)

// Promise is an assurance to a step that a global threshold must not override: the threshold counts from its end.
type Promise string

// The promises.
const (
	NoPromise       Promise = ""
	PromisedAttempt Promise = "attempt" // a live worker holds the step, until the attempt times out
	PromisedTurn    Promise = "queue"   // the step waits for a worker, within the bound of its queue
	PromisedTime    Promise = "time"    // the step waits for a given time: a retry, a snooze, run_at
	PromisedRelease Promise = "release" // a pause or a limit holds the step back
	PromisedOutside Promise = "outside" // the step waits for something outside of workers, without a bound
)

// Endless is the end of an unbounded promise.
const Endless Instant = math.MaxInt64

// Promised returns the promise to a step and its end; bound is the longest wait for a worker, 0 for unbounded. A step
// neither queued nor leased has NoPromise.
func (s *Step) Promised(now Instant, bound time.Duration) (Promise, Instant) {
	switch {
	case s.Queue == Timers:
		return PromisedTime, Instant(s.Key)
	case s.Parked():
		return PromisedRelease, Endless
	case s.Queue == Outside:
		return PromisedOutside, Endless
	case s.State == StepEnqueued && bound <= 0:
		return PromisedTurn, Endless
	case s.State == StepEnqueued:
		return PromisedTurn, s.ReadyAt.Add(bound)
	case !s.State.Leased():
		return NoPromise, 0
	case s.LeaseUntil > now && s.Deadline() != 0:
		return PromisedAttempt, s.Deadline()
	default:
		return PromisedAttempt, s.LeaseUntil
	}
}

// LimitSource is the origin of a staleness threshold.
type LimitSource string

// The sources of a limit.
const (
	NoLimit         LimitSource = ""
	LimitOfTemplate LimitSource = "template"
	LimitOfAll      LimitSource = "global"
	LimitOfPromise  LimitSource = "promise"
	LimitOfDuration LimitSource = "max_duration"
)

// Limit is the time until a task is stale, and the reason.
type Limit struct {
	// Threshold is the whole time (0: none), Used the elapsed part.
	Threshold, Used time.Duration
	Source          LimitSource
	// The promise, its step and its end, set even for an endless one.
	Promise       Promise
	PromisedStep  *Step
	PromisedUntil Instant
	Prolonged     time.Duration
}

// Health returns how near the limit is.
func (l Limit) Health() Health { return HealthOf(l.Used, l.Threshold) }

// StaleAt returns the end of a task's limit; 0 without one. Time before its run_at does not count.
func (l Limit) StaleAt(k *Task, now Instant) Instant {
	if l.Threshold <= 0 {
		return 0
	}
	if l.Promise == NoPromise {
		now = max(now, k.RunAt)
	}
	return now.Add(l.Threshold - l.Used)
}

// HeldUntil returns until when an operator held a step back: Endless for a current pause, 0 for none.
type HeldUntil func(*Step) Instant

// Limit returns how long a task may stay in its state. The template's threshold always applies; a global one counts
// from the end of the last promise. Neither counts time before the end of a pause. steps are the queued ones; held
// may be nil.
func (t Thresholds) Limit(k *Task, l Lifecycle, steps []*Step, bound time.Duration, held HeldUntil, now Instant) Limit {
	threshold, own := t.of(k.State, l)
	since, paused := heldSince(k.Since(now), steps, held)
	out := Limit{Threshold: threshold, Used: now.Sub(since)}
	switch {
	case threshold <= 0:
		return Limit{Used: out.Used}
	case paused != nil:
		return Limit{Used: out.Used, Source: LimitOfPromise, Promise: PromisedRelease, PromisedStep: paused,
			PromisedUntil: Endless}
	case own:
		out.Source = LimitOfTemplate
		return out
	}
	out.Source = LimitOfAll
	for _, s := range steps {
		p, until := s.Promised(now, bound)
		if p == NoPromise || until <= since || until < out.PromisedUntil ||
			until == out.PromisedUntil && s.Ordinal > out.PromisedStep.Ordinal {
			continue
		}
		out.Source, out.Promise, out.PromisedStep, out.PromisedUntil = LimitOfPromise, p, s, until
	}
	switch {
	case out.PromisedUntil == Endless:
		out.Threshold = 0
	case out.Promise != NoPromise:
		out.Prolonged = out.PromisedUntil.Sub(since)
		out.Threshold += out.Prolonged
	}
	return out
}

// heldSince returns when the task's time began to count, and a step held back now, or nil.
func heldSince(since Instant, steps []*Step, held HeldUntil) (Instant, *Step) {
	if held == nil {
		return since, nil
	}
	for _, s := range steps {
		until := held(s)
		if until == Endless {
			return since, s
		}
		since = max(since, until)
	}
	return since, nil
}

// DurationLimit returns the limit of the whole duration; Threshold 0 is none.
func DurationLimit(k *Task, l Lifecycle, now Instant) Limit {
	if l.MaxDuration <= 0 || k.DeadlineAt == 0 {
		return Limit{}
	}
	return Limit{Threshold: l.MaxDuration, Used: max(l.MaxDuration-k.DeadlineAt.Sub(now), 0), Source: LimitOfDuration}
}

// Nearer returns the limit of worse health, on a tie the one that ends first.
func (l Limit) Nearer(o Limit) Limit {
	switch a, b := l.Health(), o.Health(); {
	case l.Threshold <= 0:
		if o.Threshold <= 0 {
			return l
		}
		return o
	case o.Threshold <= 0 || a.worse(b):
		return l
	case b.worse(a):
		return o
	}
	if o.Threshold-o.Used < l.Threshold-l.Used {
		return o
	}
	return l
}

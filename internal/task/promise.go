package task

import (
	"math"
	"time"
)

// Promise is what a step was told that a threshold for all must not override. While
// one holds, its task is not stale: the time of the threshold begins at its end.
type Promise string

// The promises.
const (
	NoPromise       Promise = ""
	PromisedAttempt Promise = "attempt" // a live worker has it, until the attempt times out
	PromisedTurn    Promise = "queue"   // it waits for a worker, within the bound of its queue
	PromisedTime    Promise = "time"    // it waits for a time it was given: a retry, a snooze, run_at
)

// Endless is the end of a promise that has none.
const Endless Instant = math.MaxInt64

// Promised returns what is promised to a step, and until when; bound is how long one
// may wait for a worker, 0 without end. NoPromise when nobody has to do anything
// about it.
func (s *Step) Promised(now Instant, bound time.Duration) (Promise, Instant) {
	switch {
	case s.Queue == Timers:
		return PromisedTime, Instant(s.Key)
	case s.State == StepEnqueued && bound <= 0:
		return PromisedTurn, Endless
	case s.State == StepEnqueued:
		return PromisedTurn, s.ReadyAt.Add(bound)
	case !s.State.Leased():
		return NoPromise, 0
	case s.LeaseUntil > now && s.Deadline() != 0:
		return PromisedAttempt, s.Deadline()
	default: // not begun, or by a worker that has fallen silent
		return PromisedAttempt, s.LeaseUntil
	}
}

// LimitSource says where the time comes from after which a task is stale.
type LimitSource string

// The sources of a limit.
const (
	NoLimit         LimitSource = ""
	LimitOfTemplate LimitSource = "template"     // what its template says of the state
	LimitOfAll      LimitSource = "global"       // what is configured for all
	LimitOfPromise  LimitSource = "promise"      // that, from the end of a promise on
	LimitOfDuration LimitSource = "max_duration" // what its template says of the task as a whole
)

// Limit is how long a task may be where it is until it is stale, and why.
type Limit struct {
	// Threshold is the whole time, Used what is gone of it. A Threshold of 0 is none.
	Threshold, Used time.Duration
	Source          LimitSource
	// Of a promise: which, to which step, and until when. Also where it has no end.
	Promise       Promise
	PromisedStep  *Step
	PromisedUntil Instant
	// Prolonged is the part of Threshold that is there because of it.
	Prolonged time.Duration
}

// Health says how near to its end the time is.
func (l Limit) Health() Health { return HealthOf(l.Used, l.Threshold) }

// StaleAt is when the time ends; 0 when it does not.
func (l Limit) StaleAt(now Instant) Instant {
	if l.Threshold <= 0 {
		return 0
	}
	return now.Add(l.Threshold - l.Used)
}

// Limit returns how long a task may stay in its state. A threshold of its template
// holds whatever happens; one for all begins when the last promise to one of its
// steps ends. Steps are those that stand in a queue.
func (t Thresholds) Limit(k *Task, l Lifecycle, steps []*Step, bound time.Duration, now Instant) Limit {
	threshold, own := t.of(k.State, l)
	since := k.Since(now)
	out := Limit{Threshold: threshold, Used: now.Sub(since)}
	switch {
	case threshold <= 0:
		return Limit{Used: out.Used}
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

// DurationLimit returns how long a task may take as a whole; a Threshold of 0 for as
// long as it likes.
func DurationLimit(k *Task, l Lifecycle, now Instant) Limit {
	if l.MaxDuration <= 0 || k.DeadlineAt == 0 {
		return Limit{}
	}
	return Limit{Threshold: l.MaxDuration, Used: max(l.MaxDuration-k.DeadlineAt.Sub(now), 0), Source: LimitOfDuration}
}

// Nearer returns that of two limits which tells more of how a task is: the one of the
// worse health, then the one that ends first.
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

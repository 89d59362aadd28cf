package task

import "time"

// Thresholds say how long a task may stay in one state until it is stale, where
// its template does not.
type Thresholds struct {
	WaitingForDependencies time.Duration
	WaitingForRetry        time.Duration
	StepsInProcess         time.Duration
}

// thresholds is the one table of the states in which a task can be stale: what
// its template says, and what is said for all.
var thresholds = map[State]func(Thresholds, Lifecycle) (own, global time.Duration){
	WaitingForDependencies: func(t Thresholds, l Lifecycle) (time.Duration, time.Duration) {
		return l.MaxWaitingForDependencies, t.WaitingForDependencies
	},
	WaitingForRetry: func(t Thresholds, l Lifecycle) (time.Duration, time.Duration) {
		return l.MaxWaitingForRetry, t.WaitingForRetry
	},
	StepsInProcess: func(t Thresholds, l Lifecycle) (time.Duration, time.Duration) {
		return l.MaxStepsInProcess, t.StepsInProcess
	},
}

// Of returns the threshold of a state for tasks of a template: the template's
// own, else that for all. 0: a task may stay in the state as long as it likes.
func (t Thresholds) Of(s State, l Lifecycle) time.Duration {
	d, _ := t.of(s, l)
	return d
}

// of returns the threshold of a state, and whether it is the template's own.
func (t Thresholds) of(s State, l Lifecycle) (d time.Duration, its bool) {
	of, ok := thresholds[s]
	if !ok {
		return 0, false
	}
	own, global := of(t, l)
	if own > 0 {
		return own, true
	}
	return max(global, 0), false
}

// Since returns when the time in its state begins that is held against a task: not
// before its run_at. An operator may have made a beginning with a task that is
// scheduled; the rest of it waits as it was told to.
func (t *Task) Since(now Instant) Instant { return max(t.StateAt, min(t.RunAt, now)) }

// Smallest returns the smallest threshold of any state for tasks of a template;
// 0 when there is none.
func (t Thresholds) Smallest(l Lifecycle) time.Duration {
	var least time.Duration
	for s := range thresholds {
		if d := t.Of(s, l); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// LookAt returns when somebody has to look whether a live task is stale: not
// later than it can be, if it stays in its state or passes into one of a
// threshold that is no smaller. 0: never.
func (t Thresholds) LookAt(k *Task, l Lifecycle) Instant {
	if k.State.Settled() {
		return 0
	}
	if wait := t.Of(k.State, l); wait > 0 {
		return max(k.StateAt, k.RunAt).Add(wait)
	}
	// in no hurry where it is, but it may go on at any time
	if wait := t.Smallest(l); wait > 0 {
		return max(k.StateAt, k.RunAt).Add(wait)
	}
	return 0
}

// Health says how near a task is to being stale.
type Health string

// The healths.
const (
	Healthy Health = "healthy"
	Warning Health = "warning" // from WarningPercent of the threshold
	Stale   Health = "stale"   // from the whole of it
)

func (h Health) worse(o Health) bool { return h != o && (h == Stale || o == Healthy) }

// WarningPercent of a threshold is where the warning begins.
const WarningPercent = 80

// HealthOf returns the health of a task that has been in its state for a time.
func HealthOf(inState, threshold time.Duration) Health {
	switch {
	case threshold <= 0 || inState < threshold/100*WarningPercent:
		return Healthy
	case inState < threshold:
		return Warning
	default:
		return Stale
	}
}

package task

import "time"

// Thresholds bound a task's time in one state where its template does not.
type Thresholds struct {
	WaitingForDependencies time.Duration
	WaitingForRetry        time.Duration
	StepsInProcess         time.Duration
}

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

// Of returns the threshold of a state: the template's, else the global one. 0: no limit.
func (t Thresholds) Of(s State, l Lifecycle) time.Duration {
	d, _ := t.of(s, l)
	return d
}

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

// Since returns when the threshold of the current state begins to count: not before run_at and its turn. An operator
// may start a part of a scheduled task; the rest waits for run_at.
func (t *Task) Since(now Instant) Instant {
	if t.Meta.Held {
		return now
	}
	return max(t.StateAt, min(t.RunAt, now))
}

// Smallest returns the smallest threshold of any state; 0 without any.
func (t Thresholds) Smallest(l Lifecycle) time.Duration {
	var least time.Duration
	for s := range thresholds {
		if d := t.Of(s, l); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// LookAt returns the next staleness check of a live task, no later than it can be stale in its state or one with no
// smaller threshold. 0: never.
func (t Thresholds) LookAt(k *Task, l Lifecycle) Instant {
	if k.State.Settled() {
		return 0
	}
	if wait := t.Of(k.State, l); wait > 0 {
		return max(k.StateAt, k.RunAt).Add(wait)
	}
	// unlimited in this state, but perhaps not in the next
	if wait := t.Smallest(l); wait > 0 {
		return max(k.StateAt, k.RunAt).Add(wait)
	}
	return 0
}

// Health is how near a task is to being stale.
type Health string

// The values of Health.
const (
	Healthy Health = "healthy"
	Warning Health = "warning" // from WarningPercent of the threshold
	Stale   Health = "stale"
)

func (h Health) worse(o Health) bool { return h != o && (h == Stale || o == Healthy) }

// WarningPercent is the part of a threshold that starts the warning.
const WarningPercent = 80

// HealthOf returns the health of a task after a time in its state.
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

package scenario_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	completed = "completed"
	givenBack = "given back"
	failed    = "failed"
	forsaken  = "forsaken"  // begun, then silence
	notBegun  = "not begun" // silence from the beginning
)

const (
	forsakenIn = 90 * time.Second
	notBegunIn = 30 * time.Second
	// maxFailures is the number of failures that is final.
	maxFailures = 6
	// freeLosses is the number of workers lost in a row before that counts as a failure.
	freeLosses = 2
)

var ends = []string{completed, givenBack, failed, forsaken, notBegun}

func (m *crowd) end(rt *rapid.T, leases []engine.Lease, taken []waiter, end string) {
	status := map[string]engine.ResultStatus{completed: engine.ResultCompleted, givenBack: engine.ResultReleased,
		failed: engine.ResultFailed}[end]
	if status != "" && len(leases) > 0 {
		results := make([]engine.Result, len(leases))
		for i, l := range leases {
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: status}
			if end == failed {
				results[i].Failure = &task.Failure{Message: "x", Retryable: true}
			}
		}
		answers, err := m.engine.Settle(m.ctx, results)
		if err != nil {
			rt.Fatal(err)
		}
		for _, a := range answers {
			if a.Err != nil {
				rt.Fatal(a.Err)
			}
		}
	}
	for i, l := range leases {
		x := taken[i]
		switch end {
		case givenBack:
			x.ready = m.since(x)
			m.waiting[l.Task.ID] = x
		case failed:
			m.fail(rt, l.Task.ID, x)
		case forsaken:
			x.lost = task.At(m.now.Add(forsakenIn))
			m.away[l.Task.ID] = x
		case notBegun:
			x.lost = task.At(m.now.Add(notBegunIn))
			m.away[l.Task.ID] = x
		}
	}
}

func (m *crowd) fail(rt *rapid.T, id task.ID, x waiter) {
	x.inRow = 0
	m.charge(rt, id, x, m.find(rt, id), 0)
}

// charge notes a failure of a step; its return may be delayed by more than its back-off.
func (m *crowd) charge(rt *rapid.T, id task.ID, x waiter, s *task.Step, later time.Duration) {
	x.failures++
	if x.failures == maxFailures {
		if s.State != task.StepErrored {
			rt.Fatalf("after %d failures a step is %s", x.failures, s.State)
		}
		delete(m.away, id)
		return
	}
	if r := m.cfg.Recovery; r.BoostLevels > 0 && r.RetryPriority != settings.RetryBoosted {
		x.level = min(x.level, x.own)
	} else if x.inRow > 0 {
		x.level = m.raised(x)
	}
	backoff := time.Second << (x.failures - 1)
	wait := task.Instant(s.Key).Time().Sub(m.now)
	if s.Queue != task.Timers || wait < min(backoff, 10*time.Second) || wait > min(backoff, time.Minute)+later {
		rt.Fatalf("after %d failures a step is %s and comes back in %v", x.failures, s.State, wait)
	}
	m.putOff(rt, id, x, s)
}

func (m *crowd) keepUp(rt *rapid.T) {
	if err := m.upkeep.RunOnce(m.ctx); err != nil {
		rt.Fatal(err)
	}
	now := task.At(m.now)
	for id, x := range m.away {
		switch {
		case x.lost != 0 && x.lost <= now:
			x.lost, x.inRow = 0, x.inRow+1
			s := m.find(rt, id)
			if x.inRow > freeLosses {
				m.charge(rt, id, x, s, m.cfg.Recovery.RequeueDelay+5*time.Second)
				continue
			}
			x.level = m.raised(x)
			if s.Queue != task.Timers {
				m.back(rt, id, x, s)
				continue
			}
			latest := now.Add(m.cfg.Recovery.RequeueDelay + 5*time.Second)
			if due := task.Instant(s.Key); due <= now || due > latest ||
				m.cfg.Recovery.Stagger < 0 && due != now.Add(m.cfg.Recovery.RequeueDelay) {
				rt.Fatalf("a step that was lost by %s comes back at %s", m.sinceStart(now), m.sinceStart(due))
			}
			m.putOff(rt, id, x, s)
		case x.due != 0 && x.due <= now:
			m.back(rt, id, x, m.find(rt, id))
		}
	}
}

func (m *crowd) putOff(rt *rapid.T, id task.ID, x waiter, s *task.Step) {
	if s.Priority != x.level {
		rt.Fatalf("a step of level %d comes back with %d, want %d", x.own, s.Priority, x.level)
	}
	x.due = task.Instant(s.Key)
	m.away[id] = x
}

func (m *crowd) back(rt *rapid.T, id task.ID, x waiter, s *task.Step) {
	if s.State != task.StepEnqueued || s.Priority != x.level || s.ReadyAt != task.At(m.now) {
		rt.Fatalf("at %s a step of level %d is %s at level %d since %s, want it enqueued at level %d",
			m.sinceStart(task.At(m.now)), x.own,
			s.State, s.Priority, m.sinceStart(s.ReadyAt), x.level)
	}
	x.due, x.ready = 0, m.since(x)
	delete(m.away, id)
	m.waiting[id] = x
}

// since returns the time from which a ready step's wait counts.
func (m *crowd) since(x waiter) task.Instant {
	if m.cfg.Recovery.RetryPriority == settings.RetryRecalculated {
		return x.born
	}
	return task.At(m.now)
}

func (m *crowd) raised(x waiter) int {
	names := 0
	for _, level := range []int{25, 50, 75} {
		if level <= x.own {
			continue
		}
		if names++; names <= m.cfg.Recovery.BoostLevels && level > x.level {
			return level
		}
	}
	return x.level
}

func (m *crowd) find(rt *rapid.T, id task.ID) *task.Step {
	_, steps, err := m.engine.Steps(m.ctx, id)
	if err != nil {
		rt.Fatal(err)
	}
	return steps[0]
}

// emptyQueue requires that all remaining steps come.
func (m *crowd) emptyQueue(rt *rapid.T) {
	all := len(m.workers) - 1
	for len(m.waiting) > 0 || len(m.away) > 0 {
		m.take(rt, all, 8, completed)
		if len(m.waiting) == 0 && len(m.away) > 0 {
			m.pass(rt, time.Minute)
		}
	}
}

package crashtest

import (
	"strings"
	"time"

	"github.com/taskerhq/tasker"
)

// AwaitPrefix begins the names of steps that wait for a signal; the name of the signal follows. Its key is the
// correlation ID of the task.
const AwaitPrefix = "await_"

// AwaitTime is the wait of steps that continue without their signal. Later signals are too late, although timers of a
// database that was down may end the wait later.
const AwaitTime = time.Second

// signals checks that each waiting step has taken a signal sent to it, that none has missed one, and that each signal
// is kept and counts its steps.
func (c *checker) signals() {
	byKey := map[[2]string][]*Signal{}
	for i := range c.j.Signals {
		s := &c.j.Signals[i]
		c.unknown(s.Answer)
		byKey[[2]string{s.Name, s.Key}] = append(byKey[[2]string{s.Name, s.Key}], s)
	}
	taken := map[string]int64{}
	for _, s := range c.steps {
		name, waits := strings.CutPrefix(s.step.Name, AwaitPrefix)
		if waits && s.step.Handler == "" && s.step.State == tasker.StepComplete {
			c.signalled(s, byKey[[2]string{name, s.task.found.Task.CorrelationID}], taken)
		}
	}
	c.verdict.Signals = len(c.j.SignalEnds)
	for id, end := range c.j.SignalEnds {
		c.verdict.Taken += int(end.Taken)
		switch {
		case len(c.j.Gaps) > 0: // it may have been lost with the steps that took it
		case end.Gone:
			c.report(Lost, "the signal %s was accepted and is gone", id)
		case end.Taken != taken[id]:
			c.report(BadCounts, "the signal %s counts %d steps; %d have its payload", id, end.Taken, taken[id])
		}
	}
}

// signalled checks a step that waited, and counts it for its signal.
func (c *checker) signalled(s *stepAbout, sent []*Signal, taken map[string]int64) {
	var late struct {
		TimedOut bool `json:"timed_out"`
	}
	if unmarshal(s.step.Results, &late) && late.TimedOut {
		for _, sig := range sent {
			end := s.step.CompletedAt
			if began := s.step.LastAttemptedAt; end != nil && began != nil {
				over := began.Add(AwaitTime)
				end = &over
			}
			if sig.Accepted() && len(c.j.Gaps) == 0 && end != nil && sig.ConfirmedAt.Before(*end) {
				c.report(Lost, "step %s waited in vain until %s; the signal %s was confirmed at %s", s.step.StepUUID, clock(end),
					sig.ID, clock(&sig.ConfirmedAt))
			}
		}
		return
	}
	for _, sig := range sent {
		if sig.Possible() && sameJSON(sig.Payload, s.step.Results) {
			taken[sig.ID]++
			return
		}
	}
	c.report(Phantom, "step %s has taken a signal with %s, and nobody sent it", s.step.StepUUID, s.step.Results)
}

// compensation checks compensation steps: they run only after the failure and with something to undo, then all of them
// do, and nothing else moves.
func (c *checker) compensation(f *Found) {
	var main, undo []*stepAbout
	for i := range f.Steps {
		s := c.steps[f.Steps[i].StepUUID]
		if s.step.OnFailure {
			undo = append(undo, s)
		} else {
			main = append(main, s)
		}
	}
	failed := false
	for _, s := range main {
		failed = failed || s.step.State == tasker.StepError
	}
	cancelled := f.Task.State == tasker.TaskCancelled
	var begun *time.Time
	for _, s := range undo {
		id, ran := s.step.StepUUID, len(s.attempts)+len(s.handouts) > 0
		switch ends := c.mayUndo(s); {
		case ran && !ends:
			c.report(TooEarly, "step %s has run, and what it undoes is not complete", id)
		case ran && !failed && !cancelled:
			c.report(TooEarly, "step %s has run; its task has not failed", id)
		case f.Task.State == tasker.TaskComplete && s.step.State != tasker.StepSkipped:
			c.report(Unsettled, "step %s is %s; its task is complete", id, s.step.State)
		case f.Task.State == tasker.TaskError && ends && s.step.State == tasker.StepPending && c.parentsOver(s):
			c.report(Unsettled, "step %s is pending; its task is in error", id)
		}
		for _, a := range s.attempts {
			if a.AssignedAt != nil && (begun == nil || a.AssignedAt.Before(*begun)) {
				begun = a.AssignedAt
			}
		}
	}
	if begun == nil {
		return
	}
	c.verdict.Compensated++
	for _, s := range main {
		for _, a := range s.attempts {
			if a.AssignedAt != nil && a.AssignedAt.After(*begun) {
				c.report(Revived, "step %s was handed out at %s; the compensation of its task began at %s", s.step.StepUUID,
					clock(a.AssignedAt), clock(begun))
			}
		}
	}
}

// mayUndo reports whether everything that a compensation step undoes is complete.
func (c *checker) mayUndo(s *stepAbout) bool {
	for _, name := range s.step.Dependencies {
		if p := c.sibling(s, name); p != nil && !p.step.OnFailure && p.step.State != tasker.StepComplete {
			return false
		}
	}
	return true
}

// parentsOver reports whether the compensation steps before it have ended.
func (c *checker) parentsOver(s *stepAbout) bool {
	for _, name := range s.step.Dependencies {
		p := c.sibling(s, name)
		if p == nil || !p.step.OnFailure {
			continue
		}
		switch p.step.State {
		case tasker.StepComplete, tasker.StepSkipped, tasker.StepResolvedManually:
		default:
			return false
		}
	}
	return true
}

package crashtest

import (
	"encoding/json"

	"github.com/taskerhq/tasker"
)

func unmarshal(raw []byte, out any) bool { return json.Unmarshal(raw, out) == nil }

// outcome checks that a step is in the acknowledged state, and that a caller requested its content.
func (c *checker) outcome(s *stepAbout) {
	c.promised(s)
	if s.unworked() {
		c.ofItself(s)
	}
	switch s.step.State {
	case tasker.StepComplete:
		if !s.unworked() {
			c.explained(s)
		}
	case tasker.StepResolvedManually:
		if !s.mayBeActed(tasker.ResolveManually, nil) {
			c.report(Phantom, "step %s is resolved, and no operator did it", s.step.StepUUID)
		}
	}
}

// promised checks acknowledged successes: the step is settled with the same result, and the history agrees.
func (c *checker) promised(s *stepAbout) {
	lost := func(who string) {
		c.report(Lost, "step %s is %s; %s was told that it is settled", s.step.StepUUID, s.step.State, who)
	}
	for _, r := range s.reports {
		if !r.completes() || !r.Accepted() {
			continue
		}
		switch a := s.byLease[r.Lease]; {
		case s.step.State != tasker.StepComplete:
			lost("a worker")
		case !sameJSON(s.step.Results, r.Result):
			c.report(WrongResult, "step %s holds %s; acknowledged was %s", s.step.StepUUID, s.step.Results, r.Result)
		case a == nil || a.Outcome != "completed":
			c.report(WrongResult, "step %s was completed under token %d; the history does not say so", s.step.StepUUID, r.Lease)
		}
	}
	for _, a := range s.acts {
		if !a.Accepted() {
			continue
		}
		switch {
		case a.Kind == tasker.ResolveManually && s.step.State != tasker.StepResolvedManually,
			a.Kind == tasker.CompleteManually && s.step.State != tasker.StepComplete:
			lost("an operator")
		case a.Kind == tasker.CompleteManually && !sameJSON(s.step.Results, a.Result):
			c.report(WrongResult, "step %s holds %s; the operator supplied %s", s.step.StepUUID, s.step.Results, a.Result)
		}
	}
}

// explained checks that a complete step's result came from a report or an act that was not refused, possibly without an
// answer.
func (c *checker) explained(s *stepAbout) {
	var token int64
	for _, a := range s.attempts {
		if a.Outcome == "completed" {
			token = a.Lease
		}
	}
	if token == 0 {
		if !s.mayBeActed(tasker.CompleteManually, s.step.Results) {
			c.report(Phantom, "step %s is complete, and neither a worker nor an operator did it", s.step.StepUUID)
		}
		return
	}
	for _, r := range s.reports {
		if r.completes() && r.Lease == token && r.Possible() && sameJSON(r.Result, s.step.Results) {
			return
		}
	}
	if c.j.Foreign[s.step.Handler] {
		if !ownUUID(s.step.Results, s.step.StepUUID) {
			c.report(WrongResult, "step %s holds the result of another: %s", s.step.StepUUID, s.step.Results)
		}
		return
	}
	c.report(Phantom, "step %s is complete under token %d with %s; no such report was sent, or it was refused",
		s.step.StepUUID, token, s.step.Results)
}

// mayBeActed reports whether an operator's act of this kind may have happened: accepted, or without an answer. A result
// must be the act's.
func (s *stepAbout) mayBeActed(kind string, result json.RawMessage) bool {
	for _, a := range s.acts {
		if a.Kind == kind && a.Possible() && sameJSON(a.Result, result) {
			return true
		}
	}
	return false
}

// parents checks that the step was handed out after its parents were settled, with their results.
func (c *checker) parents(s *stepAbout) {
	for _, name := range s.step.Dependencies {
		p := c.sibling(s, name)
		if p == nil {
			c.report(TooEarly, "step %s depends on %q; the task has no such step", s.step.StepUUID, name)
			continue
		}
		for _, a := range s.attempts {
			if a.AssignedAt != nil && (p.step.CompletedAt == nil || a.AssignedAt.Before(*p.step.CompletedAt)) {
				c.report(TooEarly, "step %s was handed out under token %d at %s; its parent %s was settled at %s", s.step.StepUUID,
					a.Lease,
					clock(a.AssignedAt), name, clock(p.step.CompletedAt))
			}
		}
		for _, h := range s.handouts {
			if !c.settledBy(p, h) {
				c.report(TooEarly, "step %s was handed out before anybody reported on its parent %s", s.step.StepUUID, name)
			}
			got, ok := h.Parents[name]
			if !ok || !sameJSON(got, p.step.Results) {
				c.report(TooEarly, "step %s was handed out with %s from its parent %s, which holds %s", s.step.StepUUID, got, name,
					p.step.Results)
			}
		}
	}
}

func (c *checker) sibling(s *stepAbout, name string) *stepAbout {
	for i := range s.task.found.Steps {
		if other := &s.task.found.Steps[i]; other.Name == name {
			return c.steps[other.StepUUID]
		}
	}
	return nil
}

// settledBy reports whether a settlement of the step had begun before the hand-out h was answered.
func (c *checker) settledBy(s *stepAbout, h *Handout) bool {
	if c.j.Foreign[s.step.Handler] || s.unworked() {
		return true // there is no journal of it
	}
	for _, r := range s.reports {
		if r.completes() && r.Possible() && r.Begin < h.End {
			return true
		}
	}
	for _, a := range s.acts {
		if a.Kind != tasker.ResetForRetry && a.Possible() && a.Begin < h.End {
			return true
		}
	}
	return false
}

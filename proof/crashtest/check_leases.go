package crashtest

import (
	"math"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// never is later than every call.
const never = math.MaxInt64

// leases checks that reports about missing steps were refused.
func (c *checker) leases() {
	for i := range c.j.Reports {
		r := &c.j.Reports[i]
		if c.steps[r.Step] != nil {
			continue
		}
		if r.Accepted() {
			c.report(StaleTaken, "a %s for step %s was accepted; there is no such step", r.Verb, r.Step)
		}
		c.refused(r)
	}
}

// refused counts a report that had to be refused, and was, for the right reason.
func (c *checker) refused(r *Report) {
	switch {
	case !r.Known || r.Accepted():
	case r.Code == tasker.CodeStaleToken || r.Code == tasker.CodeNotFound:
		c.verdict.StaleRefused++
	default:
		c.report(StaleTaken, "a %s for step %s under the old token %d was refused as %s", r.Verb, r.Step, r.Lease, r.Code)
	}
}

// step checks the leases of one step, and its final content.
func (c *checker) step(s *stepAbout) {
	c.tokens(s)
	c.fencing(s)
	c.begun(s)
	c.settledOnce(s)
	c.outcome(s)
	c.operated(s)
}

// tokens checks that tokens of hand-outs grow.
func (c *checker) tokens(s *stepAbout) {
	over := s.over()
	for i, h := range s.handouts {
		for _, other := range s.handouts[:i] {
			switch {
			case other.Lease == h.Lease:
				c.report(TokenReused, "step %s was handed out twice under token %d", h.Step, h.Lease)
			case c.j.Dispatched: // another process may have handed it out meanwhile, by its own clock
			case other.Before(h.Span) && other.Lease > h.Lease, h.Before(other.Span) && h.Lease > other.Lease:
				c.report(TokenReused, "step %s was handed out under tokens %d and %d, and the greater came first", h.Step, h.Lease,
					other.Lease)
			}
		}
		if over < h.Begin && c.j.Dispatched {
			c.verdict.Late++
		} else if over < h.Begin {
			c.report(Revived, "step %s was handed out under token %d; it was settled before", h.Step, h.Lease)
		}
	}
}

// over is when a caller first knew that the step is settled for good.
func (s *stepAbout) over() int64 {
	at := int64(never)
	for _, r := range s.reports {
		if r.completes() && r.Accepted() {
			at = min(at, r.End)
		}
	}
	for _, a := range s.acts {
		if a.Kind != tasker.ResetForRetry && a.Accepted() {
			at = min(at, a.End)
		}
	}
	for _, n := range s.task.cancels {
		if n.Accepted() {
			at = min(at, n.End)
		}
	}
	return at
}

// fencing checks that no report was accepted under a stale token, or one that was never handed out.
func (c *checker) fencing(s *stepAbout) {
	over := s.over()
	ended := map[int64]int64{} // when a caller first knew the end of a token's lease
	for _, r := range s.reports {
		if r.Verb == VerbResult && r.Accepted() {
			if at, ok := ended[r.Lease]; !ok || r.End < at {
				ended[r.Lease] = r.End
			}
		}
	}
	for _, r := range s.reports {
		obsolete := over
		if at, ok := ended[r.Lease]; ok {
			obsolete = min(obsolete, at)
		}
		for _, h := range s.handouts {
			if h.Lease > r.Lease && !c.j.Dispatched {
				obsolete = min(obsolete, h.End)
			}
		}
		stale := obsolete < r.Begin
		if s.byLease[r.Lease] == nil || !s.givenTo(r) {
			stale = true // no such lease, or another worker's
		}
		if !stale {
			continue
		}
		if r.Accepted() && (r.Verb == VerbResult || !c.j.Dispatched) { // there, only the store has the order
			c.report(StaleTaken, "a %s %s for step %s was accepted under the old token %d", r.Verb, r.Status, r.Step, r.Lease)
		}
		c.refused(r)
	}
}

// givenTo reports whether the reporter may have the token: no answer gave it to another worker, nor the lease another
// token.
func (s *stepAbout) givenTo(r *Report) bool {
	for _, h := range s.handouts {
		if h.Lease == r.Lease && (h.Worker != r.Worker || h.Token != r.Token) {
			return false
		}
	}
	return true
}

// begun checks that a lease with an accepted start did not end as unstarted: by an expired message, or by its time to
// start.
func (c *checker) begun(s *stepAbout) {
	for _, r := range s.reports {
		a := s.byLease[r.Lease]
		if r.Verb != VerbStart || !r.Accepted() || a == nil || c.j.Dispatched {
			continue
		}
		if a.Outcome == "dispatch_expired" || a.Outcome == "not_started" {
			c.report(RunFailed, "step %s was started under token %d; its history says %s", s.step.StepUUID, r.Lease, a.Outcome)
		}
	}
}

// settledOnce checks that a lease has one result, and the step one success.
func (c *checker) settledOnce(s *stepAbout) {
	perToken := map[int64]int{}
	good := map[int64]bool{}
	completions := 0
	for _, r := range s.reports {
		if r.completes() {
			good[r.Lease] = true
		}
		if r.Verb != VerbResult || !r.Accepted() {
			continue
		}
		if perToken[r.Lease]++; perToken[r.Lease] == 2 {
			c.report(SettledTwice, "step %s took two results under token %d", r.Step, r.Lease)
		}
		if r.completes() {
			completions++
		}
	}
	for _, a := range s.acts {
		if a.Kind != tasker.ResetForRetry && a.Accepted() {
			completions++
		}
	}
	if completions > 1 {
		c.report(SettledTwice, "step %s: %d callers were told that they settled it", s.step.StepUUID, completions)
	}
	recorded := 0
	for _, a := range s.attempts {
		if a.Outcome == "completed" {
			recorded++
		}
	}
	if recorded > 1 {
		c.report(SettledTwice, "step %s: the history lists %d completed attempts", s.step.StepUUID, recorded)
	}
	c.verdict.Duplicates += max(len(good)-1, 0)
}

// operated checks that accepted acts of operators are kept.
func (c *checker) operated(s *stepAbout) {
	for _, a := range s.acts {
		if !a.Accepted() {
			continue
		}
		kept := false
		for _, t := range s.task.found.History.Transitions {
			kept = kept || t.StepUUID != nil && *t.StepUUID == a.Step && t.Reason == a.Reason
		}
		if !kept {
			c.report(Lost, "the %s of step %s was accepted and is not in the history", a.Kind, a.Step)
		}
	}
}

// ownUUID reports whether a result has the UUID of its step, as foreign workers' results do.
func ownUUID(result []byte, step uuid.UUID) bool {
	var echo struct {
		Step struct {
			UUID uuid.UUID `json:"uuid"`
		} `json:"step"`
	}
	return unmarshal(result, &echo) && echo.Step.UUID == step
}

package crashtest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// outcomes are the history's words for a worker's reports.
var outcomes = map[string]string{
	protocol.ResultCompleted: "completed",
	protocol.ResultFailed:    "failed",
	protocol.ResultReleased:  "released",
	protocol.ResultSnoozed:   "snoozed",
}

// stepHistory checks that a step's history has every known lease, in order, one at a time.
func (c *checker) stepHistory(s *stepAbout) {
	for _, h := range s.handouts {
		if a := s.byLease[h.Lease]; a == nil && c.j.Dispatched {
			c.verdict.Unrecorded++
		} else if a == nil {
			c.report(BadHistory, "step %s was handed out under token %d; its history does not know", h.Step, h.Lease)
		} else if !strings.Contains(a.Worker, h.Worker.String()) {
			c.report(BadHistory, "step %s was handed out under token %d to %s; its history says to %s", h.Step, h.Lease,
				h.Worker, a.Worker)
		}
	}
	for _, r := range s.reports {
		if r.Verb != VerbResult || !r.Accepted() {
			continue
		}
		if a := s.byLease[r.Lease]; a == nil || a.Outcome != outcomes[r.Status] {
			c.report(BadHistory, "step %s was reported %s under token %d; its history does not say so", r.Step, r.Status,
				r.Lease)
		}
	}
	if !s.unworked() { // their attempts are no leases
		c.attempts(s)
		c.accounted(s)
	}
	c.chain("step "+s.step.StepUUID.String(), &s.step.StepUUID, s.task.found, string(s.step.State),
		func(from, to string) bool {
			return task.StepState(from).Can(task.StepState(to))
		})
}

// attempts checks a step's attempts: ordered times, growing tokens, no overlapping leases, and the maximal number.
func (c *checker) attempts(s *stepAbout) {
	if s.step.Attempts > s.step.MaxAttempts || s.step.Attempts > len(s.attempts) {
		c.report(BadCounts, "step %s counts %d attempts of at most %d; its history lists %d", s.step.StepUUID,
			s.step.Attempts,
			s.step.MaxAttempts, len(s.attempts))
	}
	for i, a := range s.attempts {
		if !inOrder(a.ReadyAt, a.AssignedAt, a.StartedAt, a.FinishedAt) ||
			a.Outcome == "running" && s.step.State != tasker.StepInProgress {
			c.report(BadHistory, "step %s: the attempt under token %d did not happen like this: %s, ready %v, assigned %v, "+
				"started %v, finished %v",
				s.step.StepUUID, a.Lease, a.Outcome, a.ReadyAt, a.AssignedAt, a.StartedAt, a.FinishedAt)
		}
		if i == 0 {
			continue
		}
		last := s.attempts[i-1]
		if last.Lease >= a.Lease {
			c.report(TokenReused, "step %s: token %d comes after token %d in the history", s.step.StepUUID, a.Lease, last.Lease)
		}
		if !inOrder(last.FinishedAt, a.AssignedAt) {
			c.report(SettledTwice,
				"step %s: the leases under tokens %d and %d overlap: one ended (%s) at %s, the next began at %s",
				s.step.StepUUID, last.Lease, a.Lease, last.Outcome, clock(last.FinishedAt), clock(a.AssignedAt))
		}
	}
}

// accounted checks that attempts count every begun execution that succeeded or ended through a fault of the step, and
// no released or early lost one.
func (c *checker) accounted(s *stepAbout) {
	n := 0
	for _, a := range s.attempts {
		if a.Attempt != n+1 && a.Attempt == 1 && s.mayBeActed(tasker.ResetForRetry, nil) {
			n = 0 // an operator has reset it
		}
		if a.Attempt != n+1 {
			c.report(BadCounts, "step %s: under token %d (%s) the history counts attempt %d; it is the %dth", s.step.StepUUID,
				a.Lease, a.Outcome, a.Attempt, n+1)
			return
		}
		if charged(a) {
			n++
		}
	}
	if s.step.Attempts != n && (s.step.Attempts != 0 || !s.mayBeActed(tasker.ResetForRetry, nil)) {
		c.report(BadCounts, "step %s counts %d attempts; by its history there were %d", s.step.StepUUID, s.step.Attempts, n)
	}
}

// charged reports whether an attempt counts against the maximum, by the rules of docs/concepts/guarantees.md.
func charged(a *tasker.Attempt) bool {
	switch a.Outcome {
	case "completed", "failed", "timed_out", "dispatch_expired":
		return true
	case "lease_expired":
		return a.Error != nil // an early lost lease is not a failure
	case "cancelled":
		return a.StartedAt != nil
	}
	return false
}

func clock(t *time.Time) string {
	if t == nil {
		return "(never)"
	}
	return t.Format("05.000000")
}

// inOrder reports whether known times do not decrease.
func inOrder(times ...*time.Time) bool {
	var last time.Time
	for _, t := range times {
		if t == nil {
			continue
		}
		if t.Before(last) {
			return false
		}
		last = *t
	}
	return true
}

func (c *checker) taskHistory(f *Found) {
	c.chain("task "+f.Task.TaskUUID.String(), nil, f, string(f.Task.State), func(from, to string) bool {
		return task.State(from).Reaches(task.State(to))
	})
}

// chain checks that the transitions of a step, or of the task if step is nil, begin at pending, are connected and
// allowed, and end in the present state.
func (c *checker) chain(what string, step *uuid.UUID, f *Found, state string, allowed func(from, to string) bool) {
	at, last := "", time.Time{}
	var path []string
	fault := ""
	for _, t := range f.History.Transitions {
		if (t.StepUUID == nil) != (step == nil) || step != nil && *t.StepUUID != *step {
			continue
		}
		path = append(path, clock(&t.At)+" "+t.From+">"+t.To)
		switch {
		case t.From != at:
			fault = "a transition does not begin where the one before ended"
		case at == "" && t.To != string(task.StepPending):
			fault = "it does not begin as pending"
		case at != "" && !allowed(t.From, t.To):
			fault = "the transition from " + t.From + " to " + t.To + " is not allowed"
		case t.At.Before(last):
			fault = "it goes back in time"
		}
		at, last = t.To, t.At
	}
	if at != state {
		fault = "it ends as " + at + "; the state is " + state
	}
	if fault != "" {
		c.report(BadHistory, "%s: %s: %s", what, fault, strings.Join(path, ", "))
	}
}

// counts checks a task's stored counts of steps, for lost updates.
func (c *checker) counts(f *Found) {
	var want task.Counts
	for _, s := range f.Steps {
		want.Add(task.StepState(s.State))
	}
	t := f.Task
	got := task.Counts{Pending: t.PendingSteps, Active: t.InProgressSteps, Waiting: t.WaitingSteps, Done: t.CompletedSteps,
		Failed: t.FailedSteps, Cancelled: t.CancelledSteps}
	if got != want || t.TotalSteps != len(f.Steps) {
		c.report(BadCounts, "task %s counts %+v, total %d; its %d steps make %+v", t.TaskUUID, got, t.TotalSteps,
			len(f.Steps), want)
	}
	names := make([]string, len(f.Steps))
	for i, s := range f.Steps {
		names[i] = s.Name
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(f.Steps) {
		c.report(BadCounts, "task %s has a step twice", t.TaskUUID)
	}
}

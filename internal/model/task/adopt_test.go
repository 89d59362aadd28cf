package task_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Clocks of processes differ: a lease granted before the step was ready, by the granting clock, begins when it was
// ready.
func TestAdoptBeforeItWasReady(t *testing.T) {
	t.Parallel()
	ready := task.Instant(1_000_000)
	s := &task.Step{State: task.StepEnqueued, ReadyAt: ready, Token: 5}
	early := ready.Add(-3 * time.Millisecond)
	if err := s.Adopt(task.Holding{Worker: 1, Token: 9, AssignedAt: early, StartedAt: early,
		Until: ready.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if s.AssignedAt != ready || s.StartedAt != ready || s.Attempts != 1 {
		t.Errorf("assigned %d, started %d, attempts %d", s.AssignedAt, s.StartedAt, s.Attempts)
	}
	if err := s.Adopt(task.Holding{Token: 10}); task.CodeOf(err) != task.StaleToken {
		t.Errorf("adopting a lease on a step in other hands: %v", err)
	}
}

func TestLearn(t *testing.T) {
	t.Parallel()
	at := task.Instant(1_000_000)
	adopted := func(started task.Instant) *task.Step {
		s := &task.Step{State: task.StepEnqueued, ReadyAt: at, Token: 5}
		if err := s.Adopt(task.Holding{Worker: 1, Token: 9, AssignedAt: at, StartedAt: started, Until: at.Add(time.Minute),
			Progress: 10}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, tc := range map[string]struct {
		of    *task.Step
		h     task.Holding
		news  bool
		state task.StepState
		until task.Instant
	}{
		"Begun": {adopted(0), task.Holding{Token: 9, StartedAt: at + 1, Until: at.Add(time.Hour)}, true,
			task.StepInProgress, at.Add(time.Hour)},
		"Renewed": {adopted(at), task.Holding{Token: 9, StartedAt: at, Until: at.Add(time.Hour)}, true,
			task.StepInProgress, at.Add(time.Hour)},
		"Older": {adopted(at), task.Holding{Token: 9, StartedAt: at, Until: at + 1}, false, task.StepInProgress,
			at.Add(time.Minute)},
		"NotBegun": {adopted(at), task.Holding{Token: 9, Until: at + 1}, false, task.StepInProgress, at.Add(time.Minute)},
		"AssignedOnly": {adopted(0), task.Holding{Token: 9, Until: at.Add(time.Hour)}, false, task.StepAssigned,
			at.Add(time.Minute)},
		"OtherLease": {adopted(at), task.Holding{Token: 8, StartedAt: at, Until: at.Add(time.Hour)}, false,
			task.StepInProgress, at.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if news := tc.of.Learn(tc.h); news != tc.news || tc.of.State != tc.state || tc.of.LeaseUntil != tc.until {
				t.Errorf("learned %v: %s until %d, want %v: %s until %d", news, tc.of.State, tc.of.LeaseUntil, tc.news, tc.state,
					tc.until)
			}
			if begun := tc.state == task.StepInProgress; begun != (tc.of.Attempts == 1) || tc.of.Progress != 10 {
				t.Errorf("%d attempts, progress %d", tc.of.Attempts, tc.of.Progress)
			}
		})
	}
}

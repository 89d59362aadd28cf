package task_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Clocks of processes differ: a lease that was granted before the step was ready,
// by the clock of who granted it, begins when it was ready.
func TestAdoptBeforeItWasReady(t *testing.T) {
	t.Parallel()
	ready := task.Instant(1_000_000)
	s := &task.Step{State: task.StepEnqueued, ReadyAt: ready, Token: 5}
	early := ready.Add(-3 * time.Millisecond)
	if err := s.Adopt(task.Holding{Worker: 1, Token: 9, AssignedAt: early, StartedAt: early, Until: ready.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if s.AssignedAt != ready || s.StartedAt != ready || s.Attempts != 1 {
		t.Errorf("assigned %d, started %d, attempts %d", s.AssignedAt, s.StartedAt, s.Attempts)
	}
	if err := s.Adopt(task.Holding{Token: 10}); task.CodeOf(err) != task.StaleToken {
		t.Errorf("adopting a lease on a step in other hands: %v", err)
	}
}

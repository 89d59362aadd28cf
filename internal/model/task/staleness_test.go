package task_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestThresholdOf(t *testing.T) {
	t.Parallel()
	all := task.Thresholds{WaitingForDependencies: 3 * time.Hour, WaitingForRetry: 2 * time.Hour,
		StepsInProcess: time.Hour}
	own := task.Lifecycle{MaxWaitingForDependencies: 30 * time.Minute, MaxWaitingForRetry: 20 * time.Minute,
		MaxStepsInProcess: 10 * time.Minute}
	for _, c := range []struct {
		state task.State
		all   task.Thresholds
		own   task.Lifecycle
		want  time.Duration
	}{
		{task.WaitingForDependencies, all, task.Lifecycle{}, 3 * time.Hour},
		{task.WaitingForDependencies, all, own, 30 * time.Minute},
		{task.WaitingForRetry, all, task.Lifecycle{}, 2 * time.Hour},
		{task.WaitingForRetry, all, own, 20 * time.Minute},
		{task.StepsInProcess, all, task.Lifecycle{}, time.Hour},
		{task.StepsInProcess, all, own, 10 * time.Minute},
		{task.StepsInProcess, task.Thresholds{}, task.Lifecycle{}, 0},
		{task.StepsInProcess, task.Thresholds{StepsInProcess: -1}, task.Lifecycle{}, 0},
		{task.Complete, all, own, 0},
	} {
		if got := c.all.Of(c.state, c.own); got != c.want {
			t.Errorf("%s: %v, want %v", c.state, got, c.want)
		}
	}
}

func TestSmallestThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  task.Thresholds
		want time.Duration
	}{
		{task.Thresholds{}, 0},
		{task.Thresholds{WaitingForRetry: time.Hour}, time.Hour},
		{task.Thresholds{WaitingForDependencies: 3, WaitingForRetry: 2, StepsInProcess: 1}, 1},
		{task.Thresholds{WaitingForDependencies: 1, WaitingForRetry: 2, StepsInProcess: 3}, 1},
		{task.Thresholds{WaitingForDependencies: -1, WaitingForRetry: 2, StepsInProcess: 3}, 2},
	} {
		for range 20 {
			if got := c.all.Smallest(task.Lifecycle{}); got != c.want {
				t.Fatalf("%+v: %v, want %v", c.all, got, c.want)
			}
		}
	}
}

// A live task is checked when it can first be stale.
func TestLookAtStaleness(t *testing.T) {
	t.Parallel()
	all := task.Thresholds{WaitingForRetry: 2 * time.Hour, StepsInProcess: time.Hour}
	for name, c := range map[string]struct {
		task task.Task
		all  task.Thresholds
		want task.Instant
	}{
		"OwnState":   {task.Task{State: task.WaitingForRetry, StateAt: now}, all, now.Add(2 * time.Hour)},
		"OtherState": {task.Task{State: task.WaitingForDependencies, StateAt: now}, all, now.Add(time.Hour)},
		"Scheduled": {task.Task{State: task.StepsInProcess, StateAt: now, RunAt: now.Add(time.Minute)}, all,
			now.Add(time.Hour + time.Minute)},
		"NoThresholds": {task.Task{State: task.StepsInProcess, StateAt: now}, task.Thresholds{}, 0},
		"Settled":      {task.Task{State: task.Complete, StateAt: now}, all, 0},
	} {
		if got := c.all.LookAt(&c.task, task.Lifecycle{}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestHealthOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		inState, threshold time.Duration
		want               task.Health
	}{
		{time.Hour, 0, task.Healthy},
		{time.Hour, -1, task.Healthy},
		{0, 100 * time.Minute, task.Healthy},
		{80*time.Minute - 1, 100 * time.Minute, task.Healthy},
		{80 * time.Minute, 100 * time.Minute, task.Warning},
		{100*time.Minute - 1, 100 * time.Minute, task.Warning},
		{100 * time.Minute, 100 * time.Minute, task.Stale},
	} {
		if got := task.HealthOf(c.inState, c.threshold); got != c.want {
			t.Errorf("%v of %v is %s, want %s", c.inState, c.threshold, got, c.want)
		}
	}
}

package task_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	const openFor = time.Minute
	opened := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	w := &task.Worker{BrokenAt: opened}
	for _, c := range []struct {
		after  time.Duration
		state  task.BreakerState
		until  time.Duration
		period int64
	}{
		{-time.Second, task.BreakerOpen, openFor, 0}, // another process's clock is slightly behind
		{0, task.BreakerOpen, openFor, 0},
		{openFor - 1000, task.BreakerOpen, openFor, 0},
		{openFor, task.BreakerHalfOpen, 2 * openFor, 1},
		{2*openFor - 1000, task.BreakerHalfOpen, 2 * openFor, 1},
		{2 * openFor, task.BreakerHalfOpen, 3 * openFor, 2},
	} {
		state, until, period := w.Breaker(opened.Add(c.after), openFor)
		if state != c.state || until != opened.Add(c.until) || period != c.period {
			t.Errorf("after %s: %s until +%s, period %d; want %+v", c.after, state, until.Sub(opened), period, c)
		}
	}
	w.BrokenAt = 0
	if state, until, _ := w.Breaker(opened, openFor); state != task.BreakerClosed || until != 0 {
		t.Errorf("a breaker that never opened is %s until %d", state, until)
	}
}

func TestWorkersFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome task.Outcome
		failure *task.Failure
		want    bool
	}{
		"Lost":        {task.LeaseExpired, nil, true},
		"NotStarted":  {task.NotStarted, nil, true},
		"TimedOut":    {task.TimedOut, &task.Failure{Type: "timeout"}, true},
		"Memory":      {task.Failed, &task.Failure{Code: "out_of_memory"}, true},
		"NoHandler":   {task.Failed, &task.Failure{Type: "unknown_handler"}, true},
		"Class":       {task.Failed, &task.Failure{Class: failure.Worker, Retryable: true}, true},
		"NotItsWord":  {task.Failed, &task.Failure{Class: failure.Transient, Code: "OOM", Retryable: true}, false},
		"Logic":       {task.Failed, &task.Failure{Class: failure.Logic}, false},
		"Busy":        {task.Failed, &task.Failure{Type: "http", Retryable: true}, false},
		"Wrong":       {task.Failed, &task.Failure{Type: "validation"}, false},
		"GivenBack":   {task.Released, nil, false},
		"Snoozed":     {task.Snoozed, nil, false},
		"Completed":   {task.Completed, nil, false},
		"Interrupted": {task.Interrupted, nil, false},
	} {
		if got := task.WorkersFault(c.outcome, c.failure); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

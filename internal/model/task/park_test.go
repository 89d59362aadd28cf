package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestParkingQueues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, 1<<61-1).Draw(t, "id")
		limit, paused := task.ParkedLimit(id), task.ParkedTemplate(id)
		if got, ok := task.LimitOf(limit); !ok || got != id {
			t.Errorf("the queue of limit %d belongs to %d, %t", id, got, ok)
		}
		if got, ok := task.TemplateOf(paused); !ok || got != id {
			t.Errorf("the queue of template %d belongs to %d, %t", id, got, ok)
		}
		if _, ok := task.LimitOf(paused); ok {
			t.Errorf("the queue of template %d is one of a limit", id)
		}
		if _, ok := task.TemplateOf(limit); ok {
			t.Errorf("the queue of limit %d is one of a template", id)
		}
		if !task.ParkingQueue(limit) || !task.ParkingQueue(paused) {
			t.Errorf("%d and %d should be queues of parked steps", limit, paused)
		}
	})
	for _, q := range []int64{task.NoQueue, task.Timers, task.Leases, 1, 1 << 50} {
		if task.ParkingQueue(q) {
			t.Errorf("%d is a queue of parked steps", q)
		}
	}
}

func TestParkAndRelease(t *testing.T) {
	t.Parallel()
	s := aStep(task.StepEnqueued)
	if err := s.Park(task.Timers, task.Scheduling{}); task.CodeOf(err) != task.Internal {
		t.Errorf("parked among timers: %v", err)
	}
	if err := s.Park(task.ParkedLimit(3), task.Scheduling{}); err != nil || !s.Parked() || s.OnRoute() {
		t.Fatalf("park: %v, %+v", err, s)
	}
	before := s
	hold := task.Holding{Worker: 1, Token: s.Token + 1}
	for name, err := range map[string]error{"claim": s.Claim(1, now, later), "assign": s.Assign(1, now, later)} {
		if task.CodeOf(err) != task.WrongState {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Adopt(hold); task.CodeOf(err) != task.StaleToken {
		t.Errorf("adopt: %v", err)
	}
	if s.Age(now, now-1, task.Scheduling{}); s.Rekey(later, task.Scheduling{Mode: task.Aging}) {
		t.Error("a parked step was rekeyed")
	}
	if promise, until := s.Promised(now, time.Second); promise != task.PromisedRelease || until != task.Endless {
		t.Errorf("promised %q until %d", promise, until)
	}
	if string(s.Result) != string(before.Result) || s.Key != before.Key || s.Token != before.Token {
		t.Errorf("changed: %+v", s)
	}
	if err := s.Release(later, task.Scheduling{}); err != nil || !s.OnRoute() || s.Queue != s.RouteID ||
		s.ReadyAt != later || s.Key != task.StrictKey(s.Priority, later) {
		t.Errorf("release: %v, %+v", err, s)
	}
	if err := s.Release(later, task.Scheduling{}); task.CodeOf(err) != task.WrongState {
		t.Errorf("released twice: %v", err)
	}
	s = aStep(task.StepInProgress)
	if err := s.Park(task.ParkedLimit(3), task.Scheduling{}); task.CodeOf(err) != task.WrongState {
		t.Errorf("park a running step: %v", err)
	}
}

// Under a bound on waits no step that comes later than the bound precedes a parked one.
func TestParkedKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		order := task.Scheduling{Mode: rapid.SampledFrom([]task.SchedulingMode{task.Strict, task.Promote,
			task.Aging}).Draw(t, "mode"), AgingWeight: time.Minute, MaxWait: time.Hour}
		a, b := rapid.IntRange(0, task.MaxPriority).Draw(t, "a"), rapid.IntRange(0, task.MaxPriority).Draw(t, "b")
		late := now.Add(order.MaxWait + time.Microsecond)
		if order.ParkedKey(a, now) >= order.ParkedKey(b, late) {
			t.Errorf("a step of level %d is overtaken by one of level %d after the longest wait", a, b)
		}
		if a > b && order.ParkedKey(a, now) > order.ParkedKey(b, now) {
			t.Errorf("level %d is behind level %d", a, b)
		}
	})
	if key := (task.Scheduling{}).ParkedKey(3, now); key != task.StrictKey(3, now) {
		t.Errorf("without a bound the key is %d", key)
	}
}

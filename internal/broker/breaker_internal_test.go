package broker

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestBreakerStates(t *testing.T) {
	t.Parallel()
	b := &breaker{limit: 2, open: 10 * time.Second}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := func(ok bool, closed bool) {
		t.Helper()
		state := b.state(now)
		if (state == task.BreakerClosed) != closed || state == task.BreakerOpen && ok {
			t.Fatalf("%s; want a send to be allowed: %t", state, ok)
		}
		if got, _ := b.allow(now); got != ok || b.closed() != closed {
			t.Fatalf("allowed %t, closed %t; want %t and %t", got, b.closed(), ok, closed)
		}
	}
	want(true, true)
	b.record(false, now)
	want(true, true)
	b.record(true, now) // failures must be in a row
	b.record(false, now)
	want(true, true)
	b.record(false, now)
	want(false, false)
	now = now.Add(10*time.Second - 1)
	if got := b.state(now); got != task.BreakerOpen {
		t.Fatalf("just before the end it is %s", got)
	}
	if ok, wait := b.allow(now); ok || wait != 1 {
		t.Fatalf("allowed %t, or in %v", ok, wait)
	}
	now = now.Add(1)
	if got := b.state(now); got != task.BreakerHalfOpen {
		t.Fatalf("after 10 s it is %s", got)
	}
	want(true, false) // one test only
	want(false, false)
	b.forget()
	want(true, false) // the test was cancelled: another one
	b.record(false, now)
	want(false, false)
	now = now.Add(10 * time.Second)
	want(true, false)
	b.record(true, now)
	want(true, true)
	want(true, true)
}

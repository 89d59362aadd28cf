package rate_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/rate"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	start := task.At(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	at := func(d time.Duration) task.Instant { return start.Add(d) }
	var o rate.Outcomes
	check := func(key int64, now task.Instant, row, all, bad int) {
		t.Helper()
		if r, a, b := o.Of(key, now); r != row || a != all || b != bad {
			t.Errorf("%d in a row, %d of %d; want %d, %d of %d", r, b, a, row, bad, all)
		}
	}
	check(1, start, 0, 0, 0)
	o.Add(1, false, true, start)
	o.Add(1, false, false, at(time.Second)) // neither good nor bad: the row continues
	o.Add(1, false, true, at(time.Minute))
	o.Add(2, true, false, at(time.Minute))
	check(1, at(time.Minute), 2, 3, 2)
	check(2, at(time.Minute), 0, 1, 0)
	o.Add(1, true, false, at(2*time.Minute))
	check(1, at(2*time.Minute), 0, 4, 2)
	check(1, at(5*time.Minute+30*time.Second), 0, 2, 1)
	o.Add(1, false, true, at(6*time.Minute))
	check(1, at(10*time.Minute), 1, 1, 1)
	check(1, at(11*time.Minute), 0, 0, 0)
}

// What was under way together and is lost has one cause.
func TestLostTogether(t *testing.T) {
	t.Parallel()
	start := task.At(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	var o rate.Outcomes
	for i := range 8 {
		o.Lost(1, start.Add(time.Duration(i)*time.Millisecond), start.Add(3*time.Second+time.Duration(i)*time.Millisecond))
	}
	if row, all, bad := o.Of(1, start.Add(4*time.Second)); row != 1 || all != 1 || bad != 1 {
		t.Errorf("%d in a row, %d of %d; want one", row, bad, all)
	}
	o.Lost(1, start.Add(4*time.Second), start.Add(7*time.Second)) // begun after the first loss
	o.Lost(2, start, start.Add(7*time.Second))
	if row, all, bad := o.Of(1, start.Add(7*time.Second)); row != 2 || all != 2 || bad != 2 {
		t.Errorf("%d in a row, %d of %d; want two", row, bad, all)
	}
}

package engine

import (
	"testing"

	"github.com/taskerhq/tasker/internal/task"
)

// Whatever happens while all is counted, no place is given away twice; and the next count
// sets right what was counted twice.
func TestOccupancy(t *testing.T) {
	t.Parallel()
	var o occupancy
	w := &task.Worker{No: 7, Capacity: 5}
	want := func(what string, n int) {
		t.Helper()
		got := o.ask(w, 100, false)
		if got > 0 {
			o.answer(w.No, got, 0)
		}
		if got != n {
			t.Errorf("%s: %d places are free, want %d", what, got, n)
		}
	}
	want("at first", 5)
	if n := o.ask(w, 3, false); n != 3 {
		t.Fatalf("a poll for 3 is promised %d", n)
	}
	want("beside a poll under way", 2)
	o.answer(w.No, 3, 2)
	want("after it", 3)

	o.begin()
	o.take(w.No, 1) // may be in what is counted already
	o.done(map[int64]int{w.No: 3, 8: 4}, 1, 0)
	want("after a count beside a claim", 1)
	o.begin()
	o.done(map[int64]int{w.No: 3}, 2, 0)
	want("after another count", 2)

	o.leave(w.No, 2)
	want("with two results on their way", 4)
	o.free(map[int64]int{w.No: 1, 99: 1})
	want("with one of them stored", 4)
	o.stay(w.No, 1)
	want("with the other refused", 3)

	o.ask(w, 3, false)
	if n := o.ask(w, 1, true); n != 0 {
		t.Errorf("a poll is promised %d places of a worker that has none", n)
	}
	if blocked := o.free(map[int64]int{w.No: 1}); len(blocked) != 1 || blocked[0] != w.No {
		t.Errorf("notified of a free place are %v", blocked)
	}
	o.answer(w.No, 0, 0)
	if blocked := o.free(map[int64]int{w.No: 1}); len(blocked) != 0 {
		t.Errorf("though nobody waits, notified of a free place are %v", blocked)
	}
}

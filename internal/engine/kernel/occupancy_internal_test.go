package kernel

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// No slot is given away twice during a count, and the next count corrects steps counted twice.
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
	o.take(w.No, 1) // may be in the count already
	o.done(map[int64]int{w.No: 3, 8: 4}, 1, 0, 0)
	want("after a count beside a claim", 1)
	o.begin()
	o.done(map[int64]int{w.No: 3}, 2, 0, 0)
	want("after another count", 2)

	both, _ := o.leave(w.No, arrivals(1, 2))
	want("with two results on their way", 4)
	if again, _ := o.leave(w.No, arrivals(1, 2)); again != nil {
		t.Errorf("results that are reported again leave again: %v", again)
	}
	want("with both reported twice", 4)
	o.free(map[int64]int{w.No: 1, 99: 1}, 2)
	want("with one of them stored", 4)
	o.stay(w.No, both, 1)
	want("with the other refused", 3)

	o.ask(w, 3, false)
	if n := o.ask(w, 1, true); n != 0 {
		t.Errorf("a poll is promised %d places of a worker that has none", n)
	}
	if blocked := o.free(map[int64]int{w.No: 1}, 2); len(blocked) != 1 || blocked[0] != w.No {
		t.Errorf("notified of a free place are %v", blocked)
	}
	o.answer(w.No, 0, 0)
	if blocked := o.free(map[int64]int{w.No: 1}, 2); len(blocked) != 0 {
		t.Errorf("though nobody waits, notified of a free place are %v", blocked)
	}
}

func arrivals(tokens ...int64) (all []arrival) {
	for i, token := range tokens {
		all = append(all, arrival{heldLease{token: token}, i})
	}
	return all
}

// A count may include a step that ends meanwhile. There are never more free slots than ended steps, and a count with
// nothing under way finds all.
func TestOccupancyCount(t *testing.T) {
	t.Parallel()
	w := &task.Worker{No: 7, Capacity: 3}
	for _, settled := range []bool{true, false} { // by a result, or its lease was lost
		for _, counted := range []int{2, 3} {
			for _, last := range []task.Instant{0, 1, 1 - task.Instant(time.Minute)} {
				t.Run(fmt.Sprintf("settled %v counted %d last %d", settled, counted, last), func(t *testing.T) {
					t.Parallel()
					var o occupancy
					o.take(w.No, 3)
					if last != 0 {
						o.begin()
						o.done(map[int64]int{w.No: 3}, last, 0, time.Second)
					}
					free := func(when string, least int) {
						t.Helper()
						n := o.ask(w, 100, false)
						if n > 0 {
							o.answer(w.No, n, 0)
						}
						if n > 1 || n < least {
							t.Errorf("%s: %d slots are free, want %d to 1", when, n, least)
						}
					}
					since := o.counts.Load()
					var left []arrival
					if settled {
						left, _ = o.leave(w.No, arrivals(1))
						free("with the result on its way", 1)
					}
					o.begin()
					o.done(map[int64]int{w.No: counted}, 2, 0, time.Second)
					free("counted while it ends", 0)
					o.free(map[int64]int{w.No: 1}, since)
					least := 0
					if settled && last == 1 {
						least = 1 // this process sees everything
					}
					free("after its end", least)
					if settled {
						o.stay(w.No, left, 0)
						free("after the answer", least)
					}
					o.begin()
					o.done(map[int64]int{w.No: 2}, 3, 0, time.Second)
					free("counted in peace", 1)
				})
			}
		}
	}
}

package deadletter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// TestReplayRate: a replay catches up on a second at most; below a message a second it takes one at a time.
func TestReplayRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate float64
		want string // allowed every half second, taken in full each time
	}{{0, "1000 1000 1000"}, {20, "20 10 10"}, {0.5, "1 0 0 0 1 0 0 0 1"}, {1e6, "1000 1000 1000"}} {
		r := &deadletter.Replay{Spec: deadletter.ReplaySpec{Rate: c.rate}}
		got, at := "", now
		for range (len(c.want) + 1) / 2 {
			if len(got) >= len(c.want) {
				break
			}
			n := r.Allowed(at, 1000)
			r.Took(n, at)
			got += fmt.Sprint(n, " ")
			at = at.Add(500 * time.Millisecond)
		}
		if got != c.want+" " {
			t.Errorf("at %g a second it takes %s, want %s", c.rate, got, c.want)
		}
	}
}

func TestReplayParts(t *testing.T) {
	t.Parallel()
	from, to := int64(10), int64(30)
	s := deadletter.ReplaySpec{FromOffset: &from, ToOffset: &to, Partitions: []int32{0, 2, 3}}
	parts := s.Freeze([]model.ReplayPart{{Partition: 0, From: 0, To: 20}, {Partition: 1, From: 0, To: 20},
		{Partition: 2, From: 25, To: 90}, {Partition: 3, From: 31, To: 40}})
	if want := "[{0 10 20 10} {2 25 30 25}]"; fmt.Sprint(parts) != want {
		t.Fatalf("the range is %v, want %s", parts, want)
	}
	r := &deadletter.Replay{Progress: deadletter.ReplayProgress{Parts: parts}}
	order := ""
	for i := r.NextPart(); i >= 0; i = r.NextPart() {
		order += fmt.Sprint(i)
		r.Progress.Parts[i].Next += 5
	}
	if order != "010" || r.Left() != 0 {
		t.Errorf("the parts are read in the order %s, and %d offsets are left", order, r.Left())
	}
}

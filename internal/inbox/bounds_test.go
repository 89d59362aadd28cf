package inbox_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// TestIgnoreByRate: a group is ignored until its failures of one hour reach the bound, each counted once.
func TestIgnoreByRate(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		r.pass(time.Second)
		if _, err := r.ChangeGroup(t.Context(), got.Group, inbox.GroupChange{State: deadletter.GroupIgnored,
			Ignore: deadletter.Ignore{PerHour: 4}}); err != nil {
			t.Fatal(err)
		}
		r.die(dead(2, "Timeout"), dead(3, "Timeout"))
		r.pass(time.Second)
		r.want("below the bound", joined(r.groups()), "Timeout ignored 3")
		r.die(dead(4, "Timeout"))
		r.pass(time.Second)
		r.want("at the bound", joined(r.groups()), "Timeout open 4")
	})
}

// TestSourceBounds: a batch larger than max_open is captured while there is room, and refused when there is none; a
// source that was removed is not added again by the node that still reads it.
func TestSourceBounds(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		small := deadletter.Source{Namespace: "default", Name: "small", Driver: "memory", Queue: "orders.dlq", MaxOpen: 1}
		r.source(small)
		if _, err := r.Capture(t.Context(), &small, []inbox.Arrival{dead(1, "A"), dead(2, "A")}); err != nil {
			t.Fatal(err)
		}
		_, err := r.Capture(t.Context(), &small, []inbox.Arrival{dead(3, "A")})
		r.refused(err, task.Exhausted)
		if err := r.DropSource(t.Context(), "default", "small", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		small.MaxOpen = 0 // it would be refused for that first
		_, err = r.Capture(t.Context(), &small, []inbox.Arrival{dead(3, "A")})
		r.refused(err, task.NotFound)
	})
}

// TestImpossibleTime: a message from a clock that is years ahead does not lead the list for ever.
func TestImpossibleTime(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		ahead := dead(1, "Timeout")
		ahead.FailedAt = task.At(r.clock()).Add(20 * 365 * 24 * time.Hour)
		l := r.letter(r.die(ahead)[0].Letter)
		r.want("died", l.LastAt, task.At(r.clock()))
		r.want("again", r.die(ahead)[0].Status, inbox.Duplicate)
	})
}

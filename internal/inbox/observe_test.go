package inbox_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// tally is an Observer that adds up. The zero value is ready for use.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (o *tally) add(n int, what ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	o.counts[fmt.Sprint(what...)] += n
}

func (o *tally) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, what := range slices.Sorted(maps.Keys(o.counts)) {
		out = append(out, fmt.Sprintf("%s %d", what, o.counts[what]))
	}
	return out
}

func (o *tally) Captured(_, _, origin, _, outcome string, ages []time.Duration) {
	o.add(len(ages), origin, " ", outcome)
}

func (o *tally) Sent(_, _, origin, result string, letters int) { o.add(letters, origin, " ", result) }

func (o *tally) Discarded(_, _, origin, reason string, letters int) {
	o.add(letters, origin, " discarded: ", reason)
}

func (o *tally) Replayed(_, _, result string, messages int64) {
	o.add(int(messages), "replayed: ", result)
}

func (o *tally) ReplayEntered(_, _, state string) { o.add(1, "replay ", state) }

func (o *tally) Took(string, time.Duration) {}

func (o *tally) Failed(operation string, code task.Code) { o.add(1, operation, " failed: ", code) }

func TestObserver(t *testing.T) {
	t.Parallel()
	all := deadletter.Selection{Namespace: "default"}
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(placed(1, "Timeout"), dead(2, "Timeout"), dead(3, "Timeout"))
		r.die(placed(1, "Timeout"))
		r.redrive(all)
		r.broker.fails = func(seam.Outgoing) error { return fmt.Errorf("no") }
		a := dead(4, "Timeout")
		a.Origin = "orders"
		r.die(a)
		r.redrive(all)
		if _, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpDiscard, Selection: all,
			Start: true, By: inbox.By{Reason: "old"}}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.want("told", r.told.all(), []string{"orders captured 4", "orders discarded: manual 1", "orders duplicate 1",
			"orders failed 1", "orders sent 3"})
		levels, err := r.OriginLevels(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.want("nothing is left to decide", levels, []inbox.OriginLevel{{Namespace: "default", Origin: "orders"}})
	})
}

package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (r *rig) queue(name string) *compat.Queue {
	r.t.Helper()
	q, err := r.FindQueue(r.t.Context(), "default", name)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// requeue requeues while the loops of the node run on demand.
func (r *rig) requeue(q *compat.Queue, req compat.Requeue) (compat.Requeued, error) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	var loops sync.WaitGroup
	loops.Go(func() {
		for ctx.Err() == nil {
			if err := r.node.RunOnce(ctx); err != nil && ctx.Err() == nil {
				r.t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	})
	defer loops.Wait()
	defer stop()
	return r.Requeue(r.t.Context(), q, req)
}

func (r *rig) jobs(q *compat.Queue) string {
	r.t.Helper()
	letters, total, err := r.QueueLetters(r.t.Context(), q, 0, 1000)
	if err != nil || total != len(letters) {
		r.t.Fatalf("%d of %d letters, %v", len(letters), total, err)
	}
	var out []string
	for _, l := range letters {
		out = append(out, l.MessageID)
	}
	return strings.Join(out, " ")
}

func TestQueueNames(t *testing.T) { onEveryDatabase(t, testQueueNames) }

func testQueueNames(t *testing.T, r *rig) {
	for name, queue := range map[string]string{"det": "dlq:detection_queue", "over": "dlq:overflow:detection_queue",
		"twin1": "dlq:twin", "twin2": "dlq:twin"} {
		r.source(deadletter.Source{Namespace: "default", Name: name, Driver: "memory", Queue: queue})
	}
	r.source(deadletter.Source{Namespace: "default", Name: "dlq:reported", Driver: "http"})
	r.source(deadletter.Source{Namespace: "default", Name: "stats", Driver: "http"})
	for name, want := range map[string][2]string{
		"dlq:detection_queue":          {"dlq:detection_queue", "detection_queue"},
		"detection_queue":              {"dlq:detection_queue", "detection_queue"},
		"det":                          {"dlq:detection_queue", "detection_queue"},
		"dlq:overflow:detection_queue": {"dlq:overflow:detection_queue", "detection_queue"},
		"overflow:detection_queue":     {"dlq:overflow:detection_queue", "detection_queue"},
		"reported":                     {"dlq:reported", "reported"},
		"orders.dlq":                   {"orders.dlq", ""},
		"twin2":                        {"dlq:twin", "twin"},
		"stats":                        {"stats", ""},
		"dlq:stats":                    {"stats", ""},
	} {
		if q := r.queue(name); q.Name != want[0] || q.Origin() != want[1] {
			t.Errorf("%s is %s from %q", name, q.Name, q.Origin())
		}
	}
	for name, want := range map[string]task.Code{"twin": task.Conflict, "nothing": task.NotFound, "": task.NotFound,
		"dlq:": task.NotFound, "a\x00b": task.NotFound, strings.Repeat("x", 300): task.NotFound} {
		if _, err := r.FindQueue(t.Context(), "default", name); task.CodeOf(err) != want {
			t.Errorf("%q is %v", name, err)
		}
	}
}

// A silent broker does not make a queue empty. Stored letters are shown.
func TestQueueOfBrokerThatIsDown(t *testing.T) { onEveryDatabase(t, testQueueOfBrokerThatIsDown) }

func testQueueOfBrokerThatIsDown(t *testing.T, r *rig) {
	ctx, q := t.Context(), r.queue("orders")
	unavailable := func(what string, err error) {
		t.Helper()
		if task.CodeOf(err) != task.Unavailable || !strings.Contains(err.Error(), "orders") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ask := func() {
		t.Helper()
		_, err := r.Queues(ctx, "default")
		unavailable("depths", err)
		_, err = r.Requeue(ctx, q, compat.Requeue{Limit: 5})
		unavailable("requeue", err)
	}
	r.broker.down = true
	ask()
	_, _, err := r.QueueLetters(ctx, q, 0, 10)
	unavailable("an empty page", err)
	_, err = r.ClearQueue(ctx, q, inbox.By{Reason: "old"})
	unavailable("clearing nothing", err)
	r.die(dead(1, "Timeout"))
	ask()
	if got := r.jobs(q); got != "m1" {
		t.Errorf("the queue shows %q", got)
	}
	if c, err := r.ClearQueue(ctx, q, inbox.By{Reason: "old"}); err != nil || c.Letters != 1 {
		t.Errorf("cleared %+v, %v", c, err)
	}
}

func TestQueueDepth(t *testing.T) { onEveryDatabase(t, testQueueDepth) }

func testQueueDepth(t *testing.T, r *rig) {
	r.die(dead(1, "Timeout"), dead(2, "Timeout"))
	r.broker.waiting = 5
	queues, err := r.Queues(t.Context(), "default")
	if err != nil || len(queues) != 1 || queues[0].Letters != 2 || queues[0].Depth() != 7 {
		t.Errorf("%v: %+v", err, queues)
	}
	// A job captured between the two counts is in at least one.
	r.broker.waiting = 1
	r.broker.asked = func() {
		r.die(dead(3, "Timeout"))
		r.broker.waiting = 0
	}
	if queues, err = r.Queues(t.Context(), "default"); err != nil || queues[0].Depth() < 3 {
		t.Errorf("%v: while one is captured %+v", err, queues)
	}
}

// Each request sends only the oldest job.
func TestRequeueOldest(t *testing.T) { onEveryDatabase(t, testRequeueOldest) }

func testRequeueOldest(t *testing.T, r *rig) {
	r.die(dead(1, "Timeout"), dead(2, "Timeout"), dead(3, "Timeout"))
	q := r.queue("orders")
	for _, left := range []string{"m2 m3", "m3", ""} {
		done, err := r.requeue(q, compat.Requeue{By: inbox.By{Reason: "fixed"}, Limit: 1})
		if err != nil || done.Sent != 1 || done.More != (left != "") || len(done.Redrives) != 1 {
			t.Fatalf("%v: %+v", err, done)
		}
		if got := r.jobs(q); got != left {
			t.Errorf("the queue has %q, want %q", got, left)
		}
	}
	done, err := r.requeue(q, compat.Requeue{Limit: 1})
	if err != nil || done.Sent+done.Failed+done.Parked != 0 {
		t.Errorf("%v: an empty queue answers %+v", err, done)
	}
	if len(r.broker.got) != 3 {
		t.Errorf("the broker got %v", r.broker.got)
	}
}

// TestRequeueOne sends the named job alone, even a parked one.
func TestRequeueOne(t *testing.T) { onEveryDatabase(t, testRequeueOne) }

func testRequeueOne(t *testing.T, r *rig) {
	receipts := r.die(dead(1, "Timeout"), dead(2, "Timeout"), dead(3, "Timeout"))
	q := r.queue("orders")
	done, err := r.requeue(q, compat.Requeue{Letter: receipts[1].Letter})
	if err != nil || done.Sent != 1 {
		t.Fatalf("%v: %+v", err, done)
	}
	if got := r.jobs(q); got != "m1 m3" {
		t.Errorf("the queue has %q", got)
	}
	if _, err := r.requeue(q, compat.Requeue{Letter: receipts[1].Letter}); task.CodeOf(err) != task.WrongState {
		t.Errorf("a job that was sent back is sent again: %v", err)
	}
	r.source(deadletter.Source{Namespace: "default", Name: "other", Driver: "memory", Queue: "dlq:other"})
	if _, err := r.requeue(r.queue("other"), compat.Requeue{Letter: receipts[0].Letter}); task.CodeOf(err) !=
		task.NotFound {
		t.Errorf("a job is found in another queue: %v", err)
	}
	for range 3 { // until it is parked
		if _, err := r.requeue(q, compat.Requeue{Letter: receipts[2].Letter}); err != nil {
			t.Fatal(err)
		}
		back := dead(3, "Timeout")
		back.Letter = receipts[2].Letter
		r.later(time.Second)
		r.die(back)
	}
	done, err = r.requeue(q, compat.Requeue{Limit: 10})
	if err != nil || done.Sent != 1 || r.jobs(q) != "m3" {
		t.Errorf("%v: %+v leaves %q", err, done, r.jobs(q))
	}
	if done, err = r.requeue(q, compat.Requeue{Limit: 10}); err != nil || done.Sent != 0 || done.Parked != 1 {
		t.Errorf("%v: a queue of a parked job answers %+v", err, done)
	}
	if done, err = r.requeue(q, compat.Requeue{Letter: receipts[2].Letter}); err != nil || done.Sent != 1 {
		t.Errorf("%v: a parked job that is named: %+v", err, done)
	}
}

// TestRequeueAll sends up to the limit, even beyond one selection, and skips jobs without a destination.
func TestRequeueAll(t *testing.T) { onEveryDatabase(t, testRequeueAll) }

func testRequeueAll(t *testing.T, r *rig) {
	var list []inbox.Arrival
	const many = deadletter.MaxSelectionIDs + 7
	for n := range many {
		list = append(list, dead(n, "Timeout"))
	}
	list[3].Origin = "" // its origin is unknown
	r.die(list...)
	q := r.queue("orders")
	done, err := r.requeue(q, compat.Requeue{Limit: many - 2})
	if err != nil || done.Sent != many-3 || done.Failed != 1 || !done.More ||
		!strings.Contains(done.Why, "it has no origin") {
		t.Fatalf("%v: %+v", err, done)
	}
	want := fmt.Sprintf("m3 m%d m%d", many-2, many-1)
	if got := r.jobs(q); got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
	r.broker.fails = func(seam.Outgoing) error { return errors.New("OOM command not allowed") }
	done, err = r.requeue(q, compat.Requeue{Limit: 10})
	if task.CodeOf(err) != task.Conflict || done.Failed != 3 {
		t.Errorf("a broker that takes nothing: %+v, %v", done, err)
	}
	r.broker.fails = nil
	if got := r.jobs(q); got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// TestMoveJob sends a job only to a queue that the source lists.
func TestMoveJob(t *testing.T) { onEveryDatabase(t, testMoveJob) }

func testMoveJob(t *testing.T, r *rig) {
	r.die(dead(1, "Timeout"), dead(2, "Timeout"))
	q := r.queue("orders")
	for _, to := range []string{"spare", "down"} {
		if _, err := r.requeue(q, compat.Requeue{Limit: 1, Destination: to}); task.CodeOf(err) != task.Conflict {
			t.Errorf("a job is moved to %s: %v", to, err)
		}
	}
	r.source(deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
		Targets: []string{"spare"}})
	q = r.queue("orders")
	if _, err := r.requeue(q, compat.Requeue{Limit: 1, Destination: "spare"}); task.CodeOf(err) != task.Conflict {
		t.Errorf("a job is moved to a queue that does not exist: %v", err)
	}
	r.broker.queues["spare"] = true
	done, err := r.requeue(q, compat.Requeue{Limit: 1, Destination: "spare"})
	if err != nil || done.Sent != 1 || r.jobs(q) != "m2" {
		t.Errorf("%v: %+v leaves %q", err, done, r.jobs(q))
	}
}

// A clearing, or all, can be restored, but no other discarded letter.
func TestClearQueue(t *testing.T) { onEveryDatabase(t, testClearQueue) }

func testClearQueue(t *testing.T, r *rig) {
	ctx, q := t.Context(), r.queue("orders")
	receipts := r.die(dead(1, "Timeout"), dead(2, "Timeout"))
	if _, err := r.DiscardLetter(ctx, receipts[0].Letter, inbox.By{Reason: "a test order"}); err != nil {
		t.Fatal(err)
	}
	clear := func(want int) compat.Cleared {
		t.Helper()
		r.later(time.Second)
		c, err := r.ClearQueue(ctx, q, inbox.By{Reason: "unrecoverable"})
		if err != nil || c.Letters != want || c.More || r.jobs(q) != "" {
			t.Fatalf("%v: cleared %+v", err, c)
		}
		return c
	}
	first := clear(1)
	r.die(dead(3, "Timeout"))
	clear(1)
	clear(0)
	if story, err := r.Letter(ctx, receipts[1].Letter); err != nil ||
		story.Letter.Reason != "cleared from orders.dlq: unrecoverable" || story.Letter.PurgeAt == 0 {
		t.Errorf("%v: %+v", err, story.Letter)
	}
	if c, err := r.RestoreQueue(ctx, q, first.At, inbox.By{}); err != nil || c.Letters != 1 || r.jobs(q) != "m2" {
		t.Errorf("%v: %+v restored, the queue has %q", err, c, r.jobs(q))
	}
	if c, err := r.RestoreQueue(ctx, q, 0, inbox.By{}); err != nil || c.Letters != 1 || r.jobs(q) != "m2 m3" {
		t.Errorf("%v: %+v restored, the queue has %q", err, c, r.jobs(q))
	}
	r.pass(time.Second)
	if got := fmt.Sprint(r.groups()); !strings.Contains(got, " 2") {
		t.Errorf("the groups are %s", got)
	}
}

// The queue of an intake is no dead letter queue: its jobs have not run.
func TestQueueOfIntake(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.source(deadletter.Source{Namespace: "default", Name: "jobs", Driver: "memory", Queue: "jobs",
			Intake: &deadletter.Intake{TaskType: "work"}})
		r.broker.waiting = 7
		queues, err := r.Queues(t.Context(), "default")
		if err != nil || len(queues) != 1 || queues[0].Name != "orders.dlq" || queues[0].Depth() != 7 {
			t.Errorf("%+v, %v", queues, err)
		}
	})
}

// A count at its bound says so, and a source with a greater max_open shows when it is full.
func TestCountsAreMarked(t *testing.T) { onEveryDatabase(t, testCountsAreMarked) }

func testCountsAreMarked(t *testing.T, r *rig) {
	if testing.Short() {
		t.Skip("10,001 letters take seconds")
	}
	source := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
		MaxReplays: 3, MaxOpen: 10_001}
	is := func(open int, capped bool, state string) {
		t.Helper()
		st, err := r.Source(t.Context(), "default", "orders")
		if err != nil || st.Open != open || st.OpenCapped != capped || st.State != state {
			t.Fatalf("it has %d open letters (capped: %t) and is %s, want %d (%t), %s: %v", st.Open, st.OpenCapped, st.State,
				open, capped, state, err)
		}
	}
	for n := range 20 {
		batch := make([]inbox.Arrival, 500)
		for i := range batch {
			batch[i] = dead(500*n+i, "Timeout")
		}
		r.die(batch...)
	}
	if _, err := r.SaveSource(t.Context(), source, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	is(10_000, false, "reading")
	r.die(dead(10_000, "Timeout"))
	is(10_001, false, "waiting")
	source.MaxOpen = 0
	if _, err := r.SaveSource(t.Context(), source, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	is(10_000, true, "reading")
}

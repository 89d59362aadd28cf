package rabbitmq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

func done(t *testing.T, what string, seen func() int, n int) {
	t.Helper()
	await.Until(t, what, func() bool { return seen() >= n })
}

// The server raises its disk alarm, hangs, and is killed with unread messages. During the alarm nothing is claimed. In
// the end every step is done once; those of lost messages after their leases.
func TestBrokerFaults(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	r := newRig(t, s.URL()+"?heartbeat=1") // to notice a frozen server soon
	r.opts.ConfirmTimeout = 2 * time.Second
	r.engine.lease = 5 * time.Second
	const capacity = 20
	id := r.engine.worker(capacity)
	_, stop := r.start()
	seen := r.work(id, capacity)
	total := 0
	submit := func(n int) { r.engine.submit(n); total += n }
	submit(200)
	done(t, "the first are done", seen, total)

	if err := s.DiskAlarm(true); err != nil {
		t.Fatal(err)
	}
	// Only publishing connections hear of the alarm; then nothing more is claimed.
	await.Until(t, "nothing is claimed during the alarm", func() bool {
		submit(1)
		before := r.ready()
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if r.ready() < before {
				return false
			}
		}
		return true
	})
	if r.ready() == 0 {
		t.Error("no step waits")
	}
	if err := s.DiskAlarm(false); err != nil {
		t.Fatal(err)
	}
	done(t, "all are done after the alarm", seen, total)

	lost := r.seen.get("dispatchfalse")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	submit(50)
	await.Until(t, "the loss is noticed", func() bool { return r.seen.get("dispatchfalse") > lost })
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	done(t, "all are done after the thaw", seen, total)

	// The server never reads the messages for the worker.
	lost = r.seen.get("dispatchfalse")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	submit(50)
	await.Until(t, "the worker is full, or the loss is noticed before", func() bool {
		return r.ready() == 50-capacity || r.seen.get("dispatchfalse") > lost
	})
	if err := s.KillNow(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	done(t, "all are done after the restart", seen, total)
	stop()
	r.engine.get(func() {
		if len(r.engine.failed) > 0 {
			t.Errorf("%d steps have failed", len(r.engine.failed))
		}
	})
	if n := seen(); n != total {
		t.Errorf("%d steps are done of %d", n, total)
	}
}

func (r *rig) ready() (n int) {
	r.engine.get(func() { n = len(r.engine.ready) })
	return n
}

func TestStartsWithoutBroker(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	reachable := r.opts.Dial
	r.opts.Dial = dialer("amqp://guest:guest@127.0.0.1:1/")
	_, stop := r.start()
	await.Until(t, "it has tried several times", func() bool { return r.seen.get("dispatchfalse") > 3 })
	stop()
	r.opts.Dial = reachable
	id := r.engine.worker(5)
	r.start()
	seen := r.work(id, 5)
	r.engine.submit(10)
	done(t, "all are done", seen, 10)
}

// The queue of a worker disappears: its steps are given back without a charge, and the queue is declared again.
func TestQueueDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	r.opts.Refresh = time.Hour // only a returned message shows it
	id := r.engine.worker(5)
	d, _ := r.start()
	d.Notice()
	queue := task.DeliveryQueue("worker.", id)
	await.Until(t, "the queue is declared", func() bool { return r.depth(queue) == 0 })
	if _, err := r.channel().QueueDelete(queue, false, false, false); err != nil {
		t.Fatal(err)
	}
	r.engine.submit(5)
	await.Until(t, "all steps are in the new queue", func() bool { return r.depth(queue) == 5 })
	r.engine.get(func() {
		if r.engine.back == 0 || len(r.engine.failed) > 0 {
			t.Errorf("%d were given back, %d failed", r.engine.back, len(r.engine.failed))
		}
	})
}

// An exchange of another type delivers anyway.
func TestExchangeOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"direct", "fanout", "headers", "topic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rabbittest.Shared(t))
			if err := r.channel().ExchangeDeclare("tasker.dlx", kind, true, false, false, false, nil); err != nil {
				t.Fatal(err)
			}
			r.engine.worker(5)
			r.engine.ttl = time.Second
			r.start()
			r.engine.submit(5)
			await.Until(t, "all have failed", func() bool { return r.seen.get("failed") == 5 })
		})
	}
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	r.opts.Topology.Quorum = true
	r.engine.worker(5)
	r.engine.ttl = time.Second
	r.start()
	r.engine.submit(5)
	await.Until(t, "all have failed", func() bool { return r.seen.get("failed") == 5 })
}

// The permissions in docs/guides/rabbitmq-dispatch.md suffice, and without those to configure, existing queues are
// used.
func TestLeastPermissions(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]string{"Documented": `^(worker\..*|tasker\.dlx.*)$`, "NoConfigure": `^$`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin := newRig(t, rabbittest.Shared(t))
			r := newRig(t, rabbittest.NewUser(t, admin.url, configure, `^(amq\.default|worker\..*|tasker\.dlx.*)$`,
				`^(worker\..*|tasker\.dlx.*)$`))
			id := r.engine.worker(5)
			r.engine.ttl = time.Second
			if configure == `^$` {
				admin.engine = r.engine
				_, stop := admin.start() // declares everything
				await.Until(t, "the queue is declared", func() bool { return admin.depth(task.DeliveryQueue("worker.", id)) == 0 })
				stop()
			}
			r.start()
			r.engine.submit(5)
			await.Until(t, "all have failed", func() bool { return r.seen.get("failed") == 5 })
		})
	}
}

// While the database is down nothing is acknowledged; late letters are counted; foreign messages become letters, and
// one that cannot be stored holds up no other.
func TestLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	r.engine.worker(300)
	r.engine.ttl = time.Second
	r.engine.poison = "poison"
	r.start()
	r.engine.submit(200)
	await.Until(t, "all are dispatched", func() bool { return r.seen.get("published") == 200 })
	r.engine.get(func() {
		r.engine.down = true
		for _, held := range r.engine.held { // half of them run meanwhile
			n := 0
			for key := range held {
				if n++; n <= 100 {
					delete(held, key)
				}
			}
		}
	})
	await.Until(t, "the database is asked in vain", func() bool {
		n := 0
		r.engine.get(func() { n = r.engine.expiries })
		return n > 3
	})
	if got := r.seen.get("failed") + r.seen.get("late"); got > 0 {
		t.Errorf("%d were handled without a database", got)
	}
	ch := r.channel()
	for _, body := range []string{"first", "poison", "last"} {
		if err := ch.PublishWithContext(t.Context(), "", "tasker.dlx.queue", true, false, amqp091.Publishing{
			Type: "tasker.step", Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	r.engine.fail(false)
	await.Until(t, "all are handled", func() bool {
		return r.seen.get("failed") == 100 && r.seen.get("late") == 100 && r.seen.get("letter") == 2
	})
	r.engine.get(func() {
		for i, body := range []string{"first", "last"} {
			if string(r.engine.letters[i].Payload) != body {
				t.Errorf("letter %d is %s", i, r.engine.letters[i].Payload)
			}
		}
	})
}

// The queue of a dead worker is deleted only when it is empty; a living worker's stays.
func TestRemoveQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	dead, alive := r.engine.worker(5), r.engine.worker(5)
	r.engine.ttl = 2 * time.Second
	d, _ := r.start()
	queue := func(id task.ID) string { return task.DeliveryQueue("worker.", id) }
	await.Until(t, "both are declared", func() bool { return r.depth(queue(dead)) >= 0 && r.depth(queue(alive)) >= 0 })
	r.engine.submit(10)
	await.Until(t, "both have messages", func() bool { return r.depth(queue(dead)) == 5 && r.depth(queue(alive)) == 5 })
	r.engine.set(dead, func(w *task.Worker) { w.State = task.WorkerDead })
	if n, _, err := d.RemoveQueues(t.Context()); n != 0 || err != nil {
		t.Errorf("%d queues with messages were deleted, %v", n, err)
	}
	await.Until(t, "the queue is deleted", func() bool {
		if _, _, err := d.RemoveQueues(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r.depth(queue(dead)) == -1
	})
	if r.depth(queue(alive)) == -1 {
		t.Error("the queue of a living worker is deleted")
	}
	await.Until(t, "its steps have failed", func() bool { return r.seen.get("failed") >= 5 })
}

func TestWithoutDeadLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	r.opts.Topology.DeadLetters = false
	var log strings.Builder
	r.opts.Logger = logTo(&log)
	id := r.engine.worker(5)
	r.engine.ttl = time.Second
	_, stop := r.start()
	r.engine.submit(5)
	queue := task.DeliveryQueue("worker.", id)
	await.Until(t, "all are published", func() bool { return r.seen.get("published") == 5 })
	await.Until(t, "they vanish", func() bool { return r.depth(queue) == 0 })
	stop()
	if r.depth("tasker.dlx.queue") != -1 || !strings.Contains(log.String(), "dead_letter.enabled is false") {
		t.Errorf("the log is %s", log.String())
	}
}

var _ dispatch.Engine = (*fakeEngine)(nil)

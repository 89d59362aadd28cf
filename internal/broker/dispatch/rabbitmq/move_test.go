package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

// otherArguments require a replacement. No message expires during a test.
func otherArguments() amqp091.Table { return amqp091.Table{"x-message-ttl": int64(7_200_000)} }

// fill declares a queue with otherArguments and publishes numbered messages.
func (r *rig) fill(queue string, args amqp091.Table, from, n int) {
	r.t.Helper()
	ch := r.channel()
	if _, err := ch.QueueDeclare(queue, true, false, false, false, args); err != nil {
		r.t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		r.t.Fatal(err)
	}
	confirms := ch.NotifyPublish(make(chan amqp091.Confirmation, n))
	for i := from; i < from+n; i++ {
		err := ch.PublishWithContext(r.t.Context(), "", queue, true, false, amqp091.Publishing{
			Headers: amqp091.Table{"n": int64(i), "x-death": []any{amqp091.Table{"queue": "q", "count": int64(i)}}},
			Body:    []byte(strconv.Itoa(i)), DeliveryMode: amqp091.Persistent, Expiration: "3000000",
			CorrelationId: fmt.Sprint("c", i), Priority: 3, Type: "other", ContentType: "text/plain"})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for range n {
		if c := <-confirms; !c.Ack {
			r.t.Fatal("not confirmed")
		}
	}
}

func (r *rig) drain(queue string) (out []amqp091.Delivery) {
	r.t.Helper()
	ch := r.channel()
	for {
		m, ok, err := ch.Get(queue, true)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

// has reports whether a queue has certain arguments. It declares a missing one.
func (r *rig) has(queue string, args amqp091.Table) bool {
	r.t.Helper()
	conn, err := dialer(r.url)(r.t.Context(), "a test")
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Shutdown(time.Second)
	ch, err := conn.Channel()
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = ch.QueueDeclare(queue, true, false, false, false, args)
	return err == nil
}

func (r *rig) replaced(queue string, args amqp091.Table) {
	r.t.Helper()
	await.Until(r.t, queue+" is replaced", func() bool {
		return r.depth(queue) >= 0 && r.has(queue, args) && r.depth(queue+".moving") == -1
	})
}

func inOrder(t *testing.T, got []amqp091.Delivery, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d messages are left of %d", len(got), n)
	}
	for i, m := range got {
		deaths, _ := m.Headers["x-death"].([]any)
		if m.Headers["n"] != int64(i) || string(m.Body) != strconv.Itoa(i) || len(deaths) != 1 || len(m.Headers) != 2 ||
			m.Expiration != "3000000" || m.CorrelationId != fmt.Sprint("c", i) || m.Priority != 3 || m.Type != "other" {
			t.Fatalf("message %d is %+v", i, m)
		}
	}
}

// Queues with another TTL or without a dead letter exchange are replaced; messages stay, in order and unchanged, even
// after a crash in either stage.
func TestMove(t *testing.T) {
	t.Parallel()
	const n = 1000
	for name, before := range map[string]func(r *rig, queue string){
		"OtherTTL":    func(r *rig, queue string) { r.fill(queue, otherArguments(), 0, n) },
		"NoArguments": func(r *rig, queue string) { r.fill(queue, nil, 0, n) },
		"CrashOnTheWayOut": func(r *rig, queue string) {
			r.fill(queue+".moving", nil, 0, n/2)
			r.fill(queue, otherArguments(), n/2, n/2)
		},
		"CrashWithoutAQueue": func(r *rig, queue string) { r.fill(queue+".moving", nil, 0, n) },
		"CrashOnTheWayBack": func(r *rig, queue string) {
			r.fill(queue, r.opts.Topology.WorkerArguments(), 0, n/2)
			r.fill(queue+".moving", nil, n/2, n/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rabbittest.Shared(t))
			queue := task.DeliveryQueue("worker.", r.engine.worker(5))
			before(r, queue)
			_, stop := r.start()
			r.start() // another node: only one of them moves it
			r.replaced(queue, r.opts.Topology.WorkerArguments())
			stop()
			inOrder(t, r.drain(queue), n)
		})
	}
}

// The queue of dead letters with another retention holds 1,000 messages. Each becomes a letter, in order.
func TestMoveDeadLetters(t *testing.T) {
	t.Parallel()
	const n = 1000
	r := newRig(t, rabbittest.Shared(t))
	r.fill(r.opts.Topology.DeadQueue, otherArguments(), 0, n)
	r.start()
	await.Until(t, "all are letters", func() bool {
		count := 0
		r.engine.get(func() { count = len(r.engine.letters) })
		return count >= n
	})
	r.replaced(r.opts.Topology.DeadQueue, r.opts.Topology.DeadArguments())
	r.engine.get(func() {
		for i, m := range r.engine.letters {
			if string(m.Payload) != strconv.Itoa(i) {
				t.Fatalf("letter %d is %s", i, m.Payload)
			}
		}
	})
}

// A worker consumes during the replacement. It is cancelled and comes back; every message arrives.
func TestMoveUnderLoad(t *testing.T) {
	t.Parallel()
	const n = 3000
	r := newRig(t, rabbittest.Shared(t))
	id := r.engine.worker(5)
	queue := task.DeliveryQueue("worker.", id)
	r.fill(queue, otherArguments(), 0, n)
	seen := r.collect(queue)
	r.start()
	await.Until(t, "all were delivered", func() bool { return seen() == n })
	r.replaced(queue, r.opts.Topology.WorkerArguments())
}

// collect consumes until the test ends, and returns the number of different messages.
func (r *rig) collect(queue string) func() int {
	var mu sync.Mutex
	bodies := map[string]bool{}
	r.consume(queue, 5, func(m *amqp091.Delivery) {
		mu.Lock()
		bodies[string(m.Body)] = true
		mu.Unlock()
		_ = m.Ack(false)
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(bodies)
	}
}

// The connection is cut again and again during a move. No message is lost.
func TestMoveCutOff(t *testing.T) {
	t.Parallel()
	const n = 2000
	r := newRig(t, rabbittest.Shared(t))
	queue := task.DeliveryQueue("worker.", r.engine.worker(5))
	r.fill(queue, otherArguments(), 0, n)
	dial, cuts := r.opts.Dial, 0
	var mu sync.Mutex
	r.opts.Dial = func(ctx context.Context, name string) (*amqp.Conn, error) {
		conn, err := dial(ctx, name)
		mu.Lock()
		defer mu.Unlock()
		if cuts < 12 && err == nil && name == "tasker dispatch" {
			cuts++
			time.AfterFunc(time.Duration(30*cuts)*time.Millisecond, conn.Abort)
		}
		return conn, err
	}
	_, stop := r.start()
	r.replaced(queue, r.opts.Topology.WorkerArguments())
	stop()
	seen := map[string]bool{}
	for _, m := range r.drain(queue) {
		seen[string(m.Body)] = true
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != n || cuts == 0 {
		t.Errorf("%d messages are left of %d, after %d cuts", len(seen), n, cuts)
	}
}

// A node holds unstored messages while another replaces the queue of dead letters, and is killed. Every message becomes
// a letter.
func TestMoveWhatIsHeld(t *testing.T) {
	t.Parallel()
	const n = 100
	r := newRig(t, rabbittest.Shared(t))
	queue := r.opts.Topology.DeadQueue
	r.fill(queue, r.opts.Topology.DeadArguments(), 0, n)
	r.engine.fail(true)
	first := *r
	kill := first.killable()
	first.start()
	await.Until(t, "the first node holds all", func() bool { return r.depth(queue) == 0 })
	r.opts.Topology.Retention = 2 * time.Hour
	r.start()
	r.replacedBy(queue, r.opts.Topology.DeadArguments(), kill)
	r.engine.fail(false)
	await.Until(t, "all are letters", func() bool {
		bodies := map[string]bool{}
		r.engine.get(func() {
			for _, m := range r.engine.letters {
				bodies[string(m.Payload)] = true
			}
		})
		return len(bodies) == n
	})
}

// killable nodes lose their connections for good.
func (r *rig) killable() (kill func()) {
	var mu sync.Mutex
	var all []*amqp.Conn
	dead, dial := false, r.opts.Dial
	r.opts.Dial = func(ctx context.Context, name string) (*amqp.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if dead {
			return nil, errors.New("killed")
		}
		conn, err := dial(ctx, name)
		if err == nil {
			all = append(all, conn)
		}
		return conn, err
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		dead = true
		for _, c := range all {
			c.Abort()
		}
	}
}

func (r *rig) replacedBy(queue string, args amqp091.Table, then func()) {
	r.t.Helper()
	await.Until(r.t, queue+" is replaced", func() bool { return r.depth(queue) >= 0 && r.has(queue, args) })
	then()
}

// A stranger consumes from the queue of dead letters and does not give back. The queue keeps its arguments, and its
// messages become letters.
func TestMoveUnderAStranger(t *testing.T) {
	t.Parallel()
	const n = 10
	r := newRig(t, rabbittest.Shared(t))
	queue := r.opts.Topology.DeadQueue
	r.fill(queue, otherArguments(), 0, n)
	r.consume(queue, 1, func(*amqp091.Delivery) {})
	await.Until(t, "the stranger holds one", func() bool { return r.depth(queue) == n-1 })
	r.start()
	await.Until(t, "the others are letters", func() bool {
		count := 0
		r.engine.get(func() { count = len(r.engine.letters) })
		return count == n-1
	})
	if r.has(queue, r.opts.Topology.DeadArguments()) {
		t.Error("the queue was replaced, with a message that the stranger holds")
	}
}

package rabbitmq_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// consume consumes again when it is cancelled or cut off.
func (r *rig) consume(queue string, prefetch int, handle func(m *amqp091.Delivery)) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for ctx.Err() == nil {
			if conn, err := dialer(r.url)(ctx, "a worker"); err == nil {
				stop := context.AfterFunc(ctx, conn.Abort)
				consumeOver(conn, queue, prefetch, handle)
				stop()
				conn.Shutdown(time.Second)
			}
			_ = clock.Sleep(ctx, 10*time.Millisecond)
		}
	}()
	r.t.Cleanup(func() {
		cancel()
		<-finished
	})
}

// consumeOver ends with its connection, or when the queue does not exist.
func consumeOver(conn *amqp.Conn, queue string, prefetch int, handle func(m *amqp091.Delivery)) {
	ch, err := conn.Channel()
	if err != nil {
		return
	}
	_ = ch.Qos(prefetch, 0, false)
	source, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return
	}
	for m := range source {
		handle(&m)
	}
}

// work consumes a worker's queue and finishes each step.
func (r *rig) work(id task.ID, prefetch int) (seen func() int) {
	count := &observer{}
	r.consume(task.DeliveryQueue("worker.", id), prefetch, func(m *amqp091.Delivery) {
		var a protocol.Assignment
		if err := json.Unmarshal(m.Body, &a); err != nil {
			r.t.Error(err)
		}
		if r.engine.finish(id, protocol.LeaseRef{StepUUID: a.StepUUID, Token: a.Token}) {
			count.add("done", 1)
		}
		_ = m.Ack(false)
	})
	return func() int { return count.get("done") }
}

// 10,000 steps reach the workers of two nodes once each, within capacities and spread.
func TestDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	small, large := r.engine.worker(10), r.engine.worker(40)
	r.start()
	r.start()
	first, second := r.work(small, 10), r.work(large, 40)
	const steps = 10_000
	r.engine.submit(steps)
	await.Until(t, "all are done", func() bool { return first()+second() == steps })
	r.engine.get(func() {
		if r.engine.most[small] > 10 || r.engine.most[large] > 40 {
			t.Errorf("the workers held %d and %d steps", r.engine.most[small], r.engine.most[large])
		}
		if len(r.engine.failed)+r.engine.back > 0 {
			t.Errorf("%d failed, %d were given back", len(r.engine.failed), r.engine.back)
		}
	})
	if first() < steps/20 || second() < steps/20 {
		t.Errorf("one worker got nearly everything: %d, %d", first(), second())
	}
	await.Until(t, "all are confirmed", func() bool { return r.seen.get("published") == steps })
}

func TestMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	id := r.engine.worker(1)
	r.engine.ttl = 1500 * time.Millisecond
	d, _ := r.start()
	r.engine.submit(1)
	d.Notice()
	queue := task.DeliveryQueue("worker.", id)
	await.Until(t, "it is in the queue", func() bool { return r.depth(queue) == 1 })
	m, ok, err := r.channel().Get(queue, true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var a protocol.Assignment
	if err := json.Unmarshal(m.Body, &a); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want any }{
		"ContentType": {m.ContentType, "application/json"},
		"Type":        {m.Type, "tasker.step"},
		"Delivery":    {m.DeliveryMode, amqp091.Persistent},
		"Expiration":  {m.Expiration, "1500"},
		"MessageID":   {m.MessageId, a.StepUUID.String() + ".1"},
		"Step":        {m.Headers["tasker-step"], a.StepUUID.String()},
		"Task":        {m.Headers["tasker-task"], a.TaskUUID.String()},
		"Worker":      {m.Headers["tasker-worker"], id.String()},
		"Namespace":   {m.Headers["tasker-namespace"], "default"},
		"Attempt":     {m.Headers["tasker-attempt"], int64(1)},
		"TTL":         {m.Headers["tasker-ttl-ms"], int64(1500)},
		"Token":       {a.Token, "t1"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(m.Headers["tasker-dispatched-at"])); err != nil ||
		time.Since(at) > time.Minute {
		t.Errorf("it was dispatched at %v", m.Headers["tasker-dispatched-at"])
	}
}

// 1,000 steps that nobody takes expire together and fail once each; the log shows the delay.
func TestExpiry(t *testing.T) {
	t.Parallel()
	r := newRig(t, rabbittest.Shared(t))
	const steps = 1000
	r.engine.worker(steps)
	r.engine.ttl = 2 * time.Second
	r.start()
	r.engine.submit(steps)
	await.Until(t, "all have failed", func() bool { return r.seen.get("failed") == steps })
	r.engine.get(func() {
		seen := map[uuid.UUID]bool{}
		for _, l := range r.engine.failed {
			seen[l.StepUUID] = true
		}
		if len(seen) != steps || len(r.engine.failed) != steps {
			t.Errorf("%d failures of %d steps", len(r.engine.failed), len(seen))
		}
		if r.engine.expiries > steps/3 {
			t.Errorf("%d transactions: messages that come together do not share one", r.engine.expiries)
		}
	})
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	t.Logf("expiry to failure: p50 %v, p99 %v, worst %v", percentile(r.seen.handled, 50), percentile(r.seen.handled, 99),
		percentile(r.seen.handled, 100))
}

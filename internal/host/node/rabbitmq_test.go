package node_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/worker/protocol"
)

func rabbitNode(t testing.TB, dsn, url string, cfg settings.Config, o dispatch.Observer) *node.Node {
	t.Helper()
	cfg.Delivery.Offered = true
	ttl := cfg.Delivery.TTL
	n, err := node.Open(t.Context(), dsn, node.Options{Engine: cfg,
		RabbitMQ: node.RabbitMQ{URL: url, Observer: o, Topology: node.Topology{TTL: ttl, DeadLetters: true, Exchange: "dlx",
			DeadQueue: "dlx.queue", Retention: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func patiently(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestRabbitMQ: a worker gets, starts and settles steps from two nodes; an expired dispatch is retried up to the
// limit; a foreign message becomes a letter.
func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	dsn := postgrestest.DSN(t)
	cfg := settings.Config{Delivery: settings.Delivery{TTL: 2 * time.Second, ExpiryLimit: 2}}
	n := rabbitNode(t, dsn, url, cfg, nil)
	rabbitNode(t, dsn, url, cfg, nil)
	const tasks = 500
	w, err := n.RegisterWorker(t.Context(), protocol.WorkerRegistration{Handlers: []string{"work"}, Capacity: 20,
		Transport: "amqp"})
	if err != nil {
		t.Fatal(err)
	}
	consumed := consume(t, n, url, w)
	submit(t, n, "work", tasks)
	patiently(t, "all tasks are complete", func() bool { return consumed() == tasks })

	if _, err := n.RegisterWorker(t.Context(), protocol.WorkerRegistration{Handlers: []string{"idle"},
		Transport: "amqp"}); err != nil {
		t.Fatal(err)
	}
	id := submit(t, n, "idle", 1)[0]
	patiently(t, "the step that nobody takes fails for good", func() bool {
		got, err := n.Task(t.Context(), id, 0)
		return err == nil && got.State == tasker.TaskError
	})
	steps, err := n.Steps(t.Context(), id)
	if err != nil || len(steps) != 1 || steps[0].Attempts != 2 || steps[0].LastError == nil ||
		steps[0].LastError.Message != "Worker queue TTL expired" {
		t.Errorf("the steps are %+v, %v", steps, err)
	}
	foreign(t, url, "dlx.queue", "from elsewhere")
	patiently(t, "the foreign message is a letter", func() bool {
		page, err := n.Inbox().Letters(t.Context(), inbox.LetterFilter{Selection: deadletter.Selection{
			Namespace: "default", Source: "worker-dead-letters"}, Limit: 10})
		return err == nil && len(page.Letters) == 1 && string(page.Letters[0].Original.Payload) == "from elsewhere"
	})
}

// TestEqualForeignMessages: two equal foreign messages without an ID that die in one second are two letters.
func TestEqualForeignMessages(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	n := rabbitNode(t, postgrestest.DSN(t), url, settings.Config{Delivery: settings.Delivery{TTL: time.Minute}}, nil)
	conn := dial(t, url, "another application")
	defer conn.Shutdown(time.Second)
	ch := channel(t, conn)
	awaitQueue(t, conn, "dlx.queue")
	if _, err := ch.QueueDeclare("orders", true, false, false, false,
		amqp091.Table{"x-message-ttl": 1, "x-dead-letter-exchange": "dlx"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ch.PublishWithContext(t.Context(), "", "orders", true, false,
			amqp091.Publishing{Body: []byte("twin")}); err != nil {
			t.Fatal(err)
		}
	}
	patiently(t, "both are letters", func() bool {
		page, err := n.Inbox().Letters(t.Context(), inbox.LetterFilter{Selection: deadletter.Selection{
			Namespace: "default", Source: "worker-dead-letters"}, Limit: 10})
		return err == nil && len(page.Letters) == 2
	})
}

func submit(t testing.TB, n *node.Node, handler string, count int) []uuid.UUID {
	t.Helper()
	requests := make([]tasker.TaskRequest, count)
	for i := range requests {
		requests[i] = tasker.TaskRequest{TaskType: handler}
	}
	receipts, err := n.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: requests})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uuid.UUID, count)
	for i, r := range receipts {
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		ids[i] = r.TaskUUID
	}
	return ids
}

// consume is a worker, which works on each step. It returns how many results were accepted.
func consume(t *testing.T, n *node.Node, url string, w *protocol.RegisteredWorker, work ...func(handler string),
) func() int {
	t.Helper()
	conn := dial(t, url, "a worker")
	var mu sync.Mutex
	count := 0
	done := make(chan struct{})
	awaitQueue(t, conn, w.Queue)
	ch := channel(t, conn)
	source, err := ch.Consume(w.Queue, "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(done)
		for m := range source {
			var a protocol.Assignment
			if err := json.Unmarshal(m.Body, &a); err != nil {
				t.Error(err)
			}
			ref := []protocol.LeaseRef{{StepUUID: a.StepUUID, Token: a.Token}}
			held, err := n.Start(t.Context(), protocol.StartRequest{WorkerID: w.WorkerID, Steps: ref})
			if err != nil || held[0].Status != protocol.LeaseHeld {
				continue // the test is over
			}
			_ = m.Ack(false)
			for _, do := range work {
				do(a.Handler)
			}
			answers, err := n.Settle(t.Context(), protocol.SettleRequest{WorkerID: w.WorkerID,
				Results: []protocol.StepResult{{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultCompleted}}})
			if err == nil && answers[0].Error == nil {
				mu.Lock()
				count++
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		conn.Shutdown(time.Second)
		<-done
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

func foreign(t *testing.T, url, queue, body string) {
	t.Helper()
	conn := dial(t, url, "another application")
	defer conn.Shutdown(time.Second)
	ch := channel(t, conn)
	message := amqp091.Publishing{Body: []byte(body)}
	if err := ch.PublishWithContext(t.Context(), "", queue, true, false, message); err != nil {
		t.Fatal(err)
	}
}

// The caller closes the connection.
func dial(t *testing.T, url, name string) *amqp.Conn {
	t.Helper()
	target, err := amqp.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := target.Dial(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func channel(t *testing.T, conn *amqp.Conn) *amqp091.Channel {
	t.Helper()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func awaitQueue(t *testing.T, conn *amqp.Conn, name string) {
	t.Helper()
	patiently(t, "the queue "+name+" is declared", func() bool {
		probe := channel(t, conn)
		defer func() { _ = probe.Close() }() // the server closes it if there is no queue
		_, err := probe.QueueDeclarePassive(name, true, false, false, false, nil)
		return err == nil
	})
}

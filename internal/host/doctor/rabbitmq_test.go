package doctor_test

import (
	"context"
	"sync"
	"testing"
	"time"

	_ "github.com/taskerhq/tasker/embedded/rabbitmq"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestRabbitMQ: the topology without servers, with one, with another configuration, and without a binding.
func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{"SQLite": sqliteIn,
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := with(t, dsn(t))
			cfg := config.Default().MessageQueue.Rabbitmq
			cfg.URL = rabbittest.Shared(t)
			look := func(change func(*config.Rabbitmq)) map[string]doctor.Status {
				t.Helper()
				changed := cfg
				if change != nil {
					change(&changed)
				}
				return rabbitChecks(t, at, changed)
			}
			want(t, "before any server", look(nil), "rabbitmq_exchange", doctor.Fail, "rabbitmq_dead_letters", doctor.Fail,
				"rabbitmq_queues", doctor.OK)
			stop := rabbitServer(t, at, &cfg)
			want(t, "with a server and a worker that does not consume", look(nil), "rabbitmq_exchange", doctor.OK,
				"rabbitmq_dead_letters", doctor.OK, "rabbitmq_queues", doctor.Warn)
			want(t, "with another TTL", look(func(r *config.Rabbitmq) {
				r.WorkerQueueTTLMs, r.DeadLetter.TTLMs = 60_000, 60_000
			}),
				"rabbitmq_exchange", doctor.OK, "rabbitmq_dead_letters", doctor.Warn, "rabbitmq_queues", doctor.Warn)
			want(t, "without dead letters", look(func(r *config.Rabbitmq) { r.DeadLetter.Enabled = false }),
				"rabbitmq_exchange", doctor.Warn, "rabbitmq_queues", doctor.Warn)
			stop()
			want(t, "without a server again", look(nil), "rabbitmq_dead_letters", doctor.Fail)
			unbind(t, &cfg)
			want(t, "without a binding", look(nil), "rabbitmq_exchange", doctor.Fail)
			want(t, "out of reach", look(func(r *config.Rabbitmq) { r.URL = "amqp://127.0.0.1:1/" }), "rabbitmq", doctor.Fail)
		})
	}
}

func want(t *testing.T, when string, got map[string]doctor.Status, pairs ...any) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if s := got[pairs[i].(string)]; s != pairs[i+1] {
			t.Errorf("%s: %s is %q, want %s", when, pairs[i], s, pairs[i+1])
		}
	}
}

func rabbitChecks(t *testing.T, dsn string, cfg config.Rabbitmq) map[string]doctor.Status {
	t.Helper()
	at, err := config.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	report, err := doctor.Examine(t.Context(), at, doctor.Options{RabbitMQ: cfg})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]doctor.Status{}
	for _, c := range report.Checks { // the worst comes first
		if _, have := out[c.Name]; !have {
			out[c.Name] = c.Status
		}
	}
	return out
}

// rabbitServer runs a node with one worker, and waits for its queues.
func rabbitServer(t *testing.T, dsn string, cfg *config.Rabbitmq) (stop func()) {
	t.Helper()
	n, err := node.Open(t.Context(), dsn, node.Options{
		Engine: settings.Config{Delivery: settings.Delivery{Offered: true, TTL: cfg.WorkerQueueTTL()}},
		RabbitMQ: node.RabbitMQ{URL: cfg.URL, Topology: node.Topology{TTL: cfg.WorkerQueueTTL(), DeadLetters: true,
			Exchange: cfg.DeadLetter.Exchange, DeadQueue: cfg.DeadLetter.Queue, Retention: cfg.Retention()}}})
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
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	w, err := n.RegisterWorker(t.Context(), protocol.WorkerRegistration{Transport: "amqp"})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !consumed(t, cfg, w.Queue); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the queues are not declared within a minute")
		}
	}
	return stop
}

// consumed reports whether a worker's queue exists and the queue of dead letters has a consumer.
func consumed(t *testing.T, cfg *config.Rabbitmq, queue string) bool {
	conn := rabbitConn(t, cfg)
	defer conn.Shutdown(time.Second)
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
		return false
	}
	q, err := ch.QueueDeclarePassive(cfg.DeadLetter.Queue, true, false, false, false, nil)
	return err == nil && q.Consumers > 0
}

func rabbitConn(t *testing.T, cfg *config.Rabbitmq) *amqp.Conn {
	t.Helper()
	target, err := amqp.Parse(cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := target.Dial(t.Context(), "a test")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func unbind(t *testing.T, cfg *config.Rabbitmq) {
	t.Helper()
	conn := rabbitConn(t, cfg)
	defer conn.Shutdown(time.Second)
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"#", cfg.DeadLetter.Queue} {
		if err := ch.QueueUnbind(cfg.DeadLetter.Queue, key, cfg.DeadLetter.Exchange, nil); err != nil {
			t.Fatal(err)
		}
	}
}

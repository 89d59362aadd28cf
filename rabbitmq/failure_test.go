package rabbitmq_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/rabbitmq"
)

// A worker waits for a queue that is missing or was deleted.
func TestQueueComesLate(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	b := connect(t, url)
	remove := func() {
		if _, err := b.channel.QueueDelete(b.queue, false, false, false); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	r := b.receive(url, 2, rabbitmq.Options{})
	await.Until(t, "it warns", func() bool { return strings.Contains(r.log.String(), "NOT_FOUND") })
	b.declare()
	b.send(b.message("1"))
	held := r.next("1")
	remove()
	await.Until(t, "it has noticed", func() bool { return strings.Contains(r.log.String(), "deleted or moved") })
	b.declare()
	held.Ack() // the message went with its queue; the answer has no effect
	b.send(b.message("2"))
	r.next("2").Ack()
	r.leaves(b, 0)
}

// RabbitMQ redelivers unacknowledged messages, and old answers have no effect.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	b := connect(t, url)
	r := b.receive(url, 2, rabbitmq.Options{ConnectionName: "cut me"})
	b.send(b.message("1"), b.message("2"), b.message("3"))
	first, second := r.next("1"), r.next("2")
	first.Ack()
	r.next("3") // with the prefetch of 2, it comes when RabbitMQ has the acknowledgement
	closeConnections(t, url, "cut me")
	again := r.next("2")
	second.Reject()
	again.Ack()
	r.next("3").Ack()
	r.leaves(b, 0)
	if n := b.waiting(b.queue + ".dead"); n != 0 {
		t.Error("an answer of the lost connection took effect")
	}
}

// The worker reconnects after a kill.
func TestBrokerRestarts(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	b := connect(t, s.URL())
	r := b.receive(s.URL(), 1, rabbitmq.Options{})
	b.send(b.message("1"))
	r.next("1").Ack()
	await.Until(t, "it is acknowledged", func() bool { return b.waiting(b.queue) == 0 })
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	b.dial(s.URL())
	b.send(b.message("2"))
	r.next("2").Ack()
}

// A stopping worker does not wait for a silent broker.
func TestBrokerFreezes(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	b := connect(t, s.URL())
	r := b.receive(s.URL(), 1, rabbitmq.Options{})
	b.send(b.message("1"))
	d := r.next("1")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Thaw(); err != nil {
			t.Error(err)
		}
	}()
	d.Ack()
	r.stop()
	r.wait()
}

// A silent broker loses its connection, and the worker reconnects when it answers.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	b := connect(t, s.URL())
	r := b.receive(s.URL()+"?heartbeat=1&connection_timeout=1000", 1, rabbitmq.Options{})
	await.Until(t, "it consumes", func() bool { return consumers(b) == 1 })
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it gives the connection up", func() bool { return r.log.String() != "" })
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "RabbitMQ answers", func() bool {
		b.dial(s.URL())
		return true
	})
	b.send(b.message("1"))
	r.next("1").Ack()
}

// A broker without disk blocks connections that publish, not those of workers.
func TestAlarm(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	b := connect(t, s.URL())
	b.send(b.message("1"), b.message("2"))
	await.Until(t, "the messages are there", func() bool { return b.waiting(b.queue) == 2 })
	if err := s.DiskAlarm(true); err != nil {
		t.Fatal(err)
	}
	r := b.receive(s.URL(), 1, rabbitmq.Options{})
	r.next("1").Ack()
	r.next("2").Ack()
}

func consumers(b *broker) int {
	b.t.Helper()
	q, err := b.channel.QueueDeclarePassive(b.queue, true, false, false, false, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return q.Consumers
}

// closeConnections closes the connections with this name, like an operator.
func closeConnections(t *testing.T, amqpURL, name string) {
	t.Helper()
	await.Until(t, "the management API knows the connection", func() bool {
		var all []struct {
			Name       string `json:"name"`
			Properties struct {
				Name string `json:"connection_name"`
			} `json:"client_properties"`
		}
		raw := rabbittest.Manage(t, amqpURL, http.MethodGet, "/api/vhosts/{vhost}/connections", nil)
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		closed := false
		for _, c := range all {
			if c.Properties.Name == name {
				rabbittest.Manage(t, amqpURL, http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil)
				closed = true
			}
		}
		return closed
	})
}

package rabbitmq_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

const patience = brokertest.Patience

var (
	receiver = brokertest.Receiver
	receive  = brokertest.Receive
	ack      = brokertest.Ack
	send     = brokertest.Send
	payloads = brokertest.Payloads
	headers  = brokertest.Headers
	header   = brokertest.Header
)

func open(t testing.TB, url string) driver.Driver {
	t.Helper()
	d, err := driver.Registry{"rabbitmq": rabbitmq.Open}.Open(t.Context(), "rabbitmq", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func application(t testing.TB, url string) *amqp091.Channel {
	t.Helper()
	c, err := amqp091.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseDeadline(time.Now().Add(5 * time.Second)) })
	ch, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// a queue must take the message
func publish(t testing.TB, ch *amqp091.Channel, exchange, key string, m amqp091.Publishing) {
	t.Helper()
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	closed := ch.NotifyClose(make(chan *amqp091.Error, 1))
	confirm, err := ch.PublishWithDeferredConfirm(exchange, key, false, false, m)
	if err != nil {
		t.Fatal(err)
	}
	if !confirm.Wait() {
		t.Fatalf("the message was not taken: %v", <-closed)
	}
}

func get(t testing.TB, ch *amqp091.Channel, queue string) amqp091.Delivery {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		d, ok, err := ch.Get(queue, false)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return d
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing comes to %s", queue)
		}
	}
}

func exchange(t testing.TB, url, name, kind string) {
	t.Helper()
	rabbittest.Manage(t, url, http.MethodPut, "/api/exchanges/{vhost}/"+name,
		map[string]any{"type": kind, "durable": true})
}

func bind(t testing.TB, url, exchange, queue, key string) {
	t.Helper()
	rabbittest.Manage(t, url, http.MethodPost, "/api/bindings/{vhost}/e/"+exchange+"/q/"+queue,
		map[string]any{"routing_key": key})
}

func numbered(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i].Payload = fmt.Append(nil, i+1)
	}
	return out
}

func limit(t testing.TB, url, queue string, messages int) {
	t.Helper()
	rabbittest.Manage(t, url, http.MethodPut, "/api/policies/{vhost}/limit", map[string]any{"pattern": queue,
		"definition": map[string]any{"max-length": messages, "overflow": "reject-publish"}, "apply-to": "queues"})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var of struct{ Policy string }
		answer := rabbittest.Manage(t, url, http.MethodGet, "/api/queues/{vhost}/"+queue, nil)
		if err := json.Unmarshal(answer, &of); err == nil && of.Policy == "limit" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the queue has no limit: %s", answer)
		}
	}
}

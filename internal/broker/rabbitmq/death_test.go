package rabbitmq_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

// shop is an application with a queue work, bound to the exchange orders, whose dead letters go to the queue dead.
type shop struct {
	url string
	ch  *amqp091.Channel
	d   driver.Driver
}

func newShop(t *testing.T, arguments map[string]any) *shop {
	t.Helper()
	s := &shop{url: rabbittest.Shared(t)}
	exchange(t, s.url, "orders", "topic")
	exchange(t, s.url, "dlx", "fanout")
	declare(t, s.url, "dead", map[string]any{})
	bind(t, s.url, "dlx", "dead", "")
	all := map[string]any{"x-dead-letter-exchange": "dlx"}
	for name, value := range arguments {
		all[name] = value
	}
	declare(t, s.url, "work", all)
	bind(t, s.url, "orders", "work", "order.#")
	s.ch, s.d = application(t, s.url), open(t, s.url)
	return s
}

func (s *shop) reject(t *testing.T, queue string, requeue bool) {
	t.Helper()
	d := get(t, s.ch, queue)
	if err := d.Nack(false, requeue); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) letter(t *testing.T) (driver.Message, format.Decoded) {
	t.Helper()
	r, err := s.d.Open(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	m := receive(t, r, 1)
	ack(t, r, m)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return m[0], format.Decode(m[0], "")
}

// TestReasons lets messages die for each of RabbitMQ's reasons.
func TestReasons(t *testing.T) {
	t.Parallel()
	order := amqp091.Publishing{Body: []byte("{}"), MessageId: "m", DeliveryMode: 2, Headers: amqp091.Table{"n": int32(1)}}
	brief := order
	brief.Expiration = "1"
	for name, c := range map[string]struct {
		arguments  map[string]any
		message    amqp091.Publishing
		die        func(*testing.T, *shop)
		reason     string
		attempts   int
		expiration string // sent back
		expired    string // only shown
	}{
		"Rejected": {nil, order, func(t *testing.T, s *shop) { s.reject(t, "work", false) }, "rejected", 1, "", ""},
		"RejectedWithExpiration": {nil, func() amqp091.Publishing { m := order; m.Expiration = "600000"; return m }(),
			func(t *testing.T, s *shop) { s.reject(t, "work", false) }, "rejected", 1, "600000", ""},
		"Expired":     {nil, brief, func(*testing.T, *shop) {}, "expired", 0, "", "1"},
		"QueueExpiry": {map[string]any{"x-message-ttl": 1}, order, func(*testing.T, *shop) {}, "expired", 0, "", ""},
		"MaxLength": {map[string]any{"x-max-length": 1}, order, func(t *testing.T, s *shop) {
			publish(t, s.ch, "orders", "order.other", amqp091.Publishing{DeliveryMode: 2})
		}, "maxlen", 0, "", ""},
		"DeliveryLimit": {map[string]any{"x-queue-type": "quorum", "x-delivery-limit": 2}, order,
			func(t *testing.T, s *shop) {
				for range 3 {
					s.reject(t, "work", true)
				}
			}, "delivery_limit", 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, c.arguments)
			publish(t, s.ch, "orders", "order.new", c.message)
			c.die(t, s)
			m, d := s.letter(t)
			if d.Format != "x-death" || d.Origin != "work" || d.Failure.Type != c.reason || d.Attempts != c.attempts ||
				d.MessageID != "m" {
				t.Errorf("it is decoded as %+v from %q", d, m.Headers)
			}
			if age := time.Since(d.LastAt.Time()); age < -time.Hour || age > time.Hour {
				t.Errorf("it died at %v", d.LastAt.Time())
			}
			h := headers(&m)
			if h["amqp-exchange"] != "orders" || h["amqp-routing-key"] != "order.new" ||
				h["amqp-expiration"] != c.expiration || h["amqp-original-expiration"] != c.expired {
				t.Errorf("its headers are %q", h)
			}
			// It returns to its queue, and by its exchange, unchanged, and without RabbitMQ's notes of its death.
			m.Headers = d.Content.Headers
			for target, want := range map[string]string{"work": "", "exchange:": "orders", "exchange:orders": "orders",
				"exchange:orders/order.new": "orders"} {
				if name == "MaxLength" || name == "QueueExpiry" {
					continue // the queue does not keep it
				}
				send(t, s.d, target, m)
				back := get(t, s.ch, "work")
				if err := back.Ack(false); err != nil {
					t.Fatal(err)
				}
				if back.Exchange != want || string(back.Body) != "{}" || back.MessageId != "m" || back.DeliveryMode != 2 ||
					back.Expiration != c.expiration || back.Headers["n"] != int32(1) || back.Headers["x-death"] != nil ||
					back.Headers["x-first-death-queue"] != nil {
					t.Errorf("sent to %s, it came back as %+v", target, back)
				}
			}
		})
	}
}

// After a round through a waiting queue, x-death has several entries. The refusing consumer's queue is the origin, and
// the message returns to its first destination.
func TestRetryLoop(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	exchange(t, s.url, "retry", "direct")
	declare(t, s.url, "wait", map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "loop",
		"x-message-ttl": 1})
	declare(t, s.url, "loop", map[string]any{"x-dead-letter-exchange": "retry", "x-dead-letter-routing-key": "again"})
	bind(t, s.url, "retry", "wait", "again")
	bind(t, s.url, "orders", "loop", "loop.#")
	publish(t, s.ch, "orders", "loop.first", amqp091.Publishing{Body: []byte("x"), Expiration: "600000"})
	for range 3 {
		s.reject(t, "loop", false)
	}
	got := get(t, s.ch, "loop") // its consumer moves it, with its headers
	publish(t, s.ch, "dlx", "", amqp091.Publishing{Body: got.Body, Headers: got.Headers, DeliveryMode: 2})
	m, d := s.letter(t)
	h := headers(&m)
	if d.Origin != "loop" || d.Failure.Type != "rejected" || d.Attempts != 3 || h["amqp-exchange"] != "orders" ||
		h["amqp-routing-key"] != "loop.first" {
		t.Errorf("it is decoded as %+v from %q", d, h)
	}
	// The waiting queue's TTL expired it, not its own expiration. That is left out anyway: x-death does not distinguish
	// them.
	if h["amqp-expiration"] != "" || h["amqp-original-expiration"] != "600000" {
		t.Errorf("its headers are %q", h)
	}
}

// A message that RabbitMQ refuses gets an error, and others are sent.
func TestNotSent(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	declare(t, s.url, "full", map[string]any{"x-max-length": 1, "x-overflow": "reject-publish"})
	exchange(t, s.url, "nowhere", "direct")
	foreign := driver.Message{Payload: []byte("its origin is not known")}
	for target, want := range map[string]error{
		"missing": driver.ErrNotFound, "exchange:missing/k": driver.ErrNotFound, "exchange:nowhere/k": driver.ErrNotFound,
		"exchange:orders/unbound": driver.ErrNotFound, "exchange:": driver.ErrRefused, "exchange:orders": driver.ErrRefused,
		"exchange:%zz/k": driver.ErrRefused, "": driver.ErrRefused,
	} {
		for i, err := range s.d.Send(t.Context(), target, []driver.Message{foreign, foreign}, driver.Limits{}) {
			if err == nil || !driver.Permanent(err) || !errors.Is(err, want) {
				t.Errorf("message %d to %q: %v, want %v", i, target, err, want)
			}
		}
	}
	var full int
	for _, err := range s.d.Send(t.Context(), "full", numbered(5), driver.Limits{}) {
		if err != nil {
			if driver.Permanent(err) {
				t.Errorf("a full queue: %v", err)
			}
			full++
		}
	}
	if full == 0 {
		t.Error("a full queue takes all messages")
	}
	for target, want := range map[string]string{"work": "true 0", "missing": "false 0", "exchange:orders/k": "true -1",
		"exchange:missing": "false 0", "exchange:": "true -1"} {
		exists, depth, err := s.d.Stat(t.Context(), target)
		if got := fmt.Sprint(exists, depth); err != nil || got != want {
			t.Errorf("Stat of %q: %s, %v; want %s", target, got, err, want)
		}
	}
	send(t, s.d, "work", numbered(1)...) // the connection has survived
}

// Returned messages are recognised by content, in any order of answers.
func TestSomeAreReturned(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	var messages []driver.Message
	for i := range 300 {
		key := "order.new"
		if i%3 == 1 {
			key = "unbound"
		}
		m := driver.Message{Payload: fmt.Append(nil, i%7), Headers: header("amqp-routing-key", key)}
		m.Headers = append(m.Headers, header("n", fmt.Sprint(i))...)
		messages = append(messages, m)
	}
	sent := 0
	for i, err := range s.d.Send(t.Context(), "exchange:orders", messages, driver.Limits{}) {
		if (err != nil) != (i%3 == 1) || err != nil && !errors.Is(err, driver.ErrNotFound) {
			t.Errorf("message %d: %v", i, err)
		}
		if err == nil {
			sent++
		}
	}
	if _, depth, err := s.d.Stat(t.Context(), "work"); err != nil || depth != int64(sent) {
		t.Errorf("%d messages are in the queue, and %d were sent (%v)", depth, sent, err)
	}
}

// The headers that route copies work with an exchange only.
func TestCopiesAreNotSentPastTheExchange(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	declare(t, s.url, "copies", map[string]any{})
	publish(t, s.ch, "dlx", "", amqp091.Publishing{Headers: amqp091.Table{"CC": []any{"copies"}}})
	m, _ := s.letter(t)
	send(t, s.d, "work", m)
	if got := get(t, s.ch, "work"); got.Headers["CC"] != nil {
		t.Errorf("it came with the headers %v", got.Headers)
	}
	if _, depth, err := s.d.Stat(t.Context(), "copies"); err != nil || depth != 0 {
		t.Errorf("%d copies were made (%v)", depth, err)
	}
}

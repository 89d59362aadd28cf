package rabbitmq_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A blocked or silent server holds a send no longer than its context, with uncertain outcomes. Alarms do not stop
// receiving.
func TestServerInTrouble(t *testing.T) {
	t.Parallel()
	s := rabbittest.Start(t)
	owner := rabbittest.NewVhost(t, s.URL())
	declare(t, owner, "q", map[string]any{})
	declare(t, owner, "full", map[string]any{})
	send(t, open(t, owner), "full", numbered(3)...)
	for name, alarm := range map[string]func(bool) error{"memory": s.MemoryAlarm, "disk": s.DiskAlarm} {
		t.Run("Alarm/"+name, func(t *testing.T) {
			d, reading := open(t, owner), open(t, owner)
			r := receiver(t, reading, "full")
			if err := alarm(true); err != nil {
				t.Fatal(err)
			}
			errs := d.Send(t.Context(), "q", numbered(3), driver.Limits{Each: 500 * time.Millisecond})
			if !errors.Is(errs[0], driver.ErrUncertain) || errs[1] == nil || errors.Is(errs[1], driver.ErrUncertain) {
				t.Errorf("with an alarm: %v; want the first to be uncertain, and no other one tried", errs)
			}
			receive(t, r, 3)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if err := alarm(false); err != nil {
				t.Fatal(err)
			}
			send(t, open(t, owner), "q", numbered(3)...)
		})
	}
	t.Run("BlockedIsSaid", func(t *testing.T) {
		d := open(t, owner)
		if err := s.MemoryAlarm(true); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan []error, 1)
		go func() { done <- d.Send(ctx, "q", numbered(1), driver.Limits{}) }()
		blocked := ""
		for deadline := time.Now().Add(patience); blocked == "" && time.Now().Before(deadline); {
			if errs := d.Send(within(t, time.Second), "q", numbered(1), driver.Limits{}); errs[0] != nil &&
				strings.Contains(errs[0].Error(), "takes no messages for now") {
				blocked = errs[0].Error()
			}
		}
		if !strings.Contains(blocked, "memory") {
			t.Errorf("a blocked connection: %q", blocked)
		}
		cancel()
		if errs := <-done; errs[0] == nil || driver.Permanent(errs[0]) {
			t.Errorf("the send that waited: %v", errs)
		}
		if err := s.MemoryAlarm(false); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("Frozen", func(t *testing.T) {
		d := open(t, owner)
		send(t, d, "q", numbered(1)...)
		r := receiver(t, d, "full")
		held := receive(t, r, 3)
		if err := s.Freeze(); err != nil {
			t.Fatal(err)
		}
		defer s.Thaw()
		began := time.Now()
		errs := d.Send(t.Context(), "q", numbered(2), driver.Limits{Each: 300 * time.Millisecond})
		if !errors.Is(errs[0], driver.ErrUncertain) || !errors.Is(errs[0], driver.ErrLost) {
			t.Errorf("a frozen server: %v", errs)
		}
		if err := r.Ack(within(t, 300*time.Millisecond), held); !errors.Is(err, driver.ErrLost) &&
			!errors.Is(err, driver.ErrClosed) {
			t.Errorf("ack of a frozen server: %v", err)
		}
		if _, _, err := d.Stat(within(t, 300*time.Millisecond), "q"); err == nil {
			t.Error("a frozen server answers Stat")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := rabbitmq.Open(within(t, 300*time.Millisecond), owner); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("connect to a frozen server: %v", err)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("all that took %v", took)
		}
		if err := s.Thaw(); err != nil {
			t.Fatal(err)
		}
		// Unacknowledged messages come again, marked as redelivered.
		again := receive(t, receiver(t, open(t, owner), "full"), 3)
		if payloads(again) != "1 2 3" || !again[0].Redelivered {
			t.Errorf("received %s again: %+v", payloads(again), again[0])
		}
	})
	t.Run("Killed", func(t *testing.T) {
		d := open(t, owner)
		r := receiver(t, d, "q")
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Receive(within(t, patience), 1); err == nil {
			for err == nil { // messages that had come already
				_, err = r.Receive(within(t, patience), 100)
			}
		} else if !errors.Is(err, driver.ErrLost) {
			t.Errorf("Receive: %v", err)
		}
		if errs := d.Send(t.Context(), "q", numbered(1), driver.Limits{}); !errors.Is(errs[0], driver.ErrLost) {
			t.Errorf("Send: %v", errs)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		send(t, open(t, owner), "q", numbered(1)...)
	})
	t.Run("AcknowledgedTooLate", func(t *testing.T) {
		if err := s.SetConsumerTimeout(1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Eval("application:set_env(rabbit, channel_tick_interval, 100)"); err != nil {
			t.Fatal(err)
		}
		r := receiver(t, open(t, owner), "full")
		receive(t, r, 3)
		_, err := r.Receive(within(t, patience), 1)
		if !errors.Is(err, driver.ErrLost) || !strings.Contains(err.Error(), "timed out") {
			t.Errorf("Receive: %v", err)
		}
	})
}

// A deleted queue ends its receiver; after that it is not found.
func TestQueueDeleted(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	declare(t, url, "q", map[string]any{})
	d := open(t, url)
	r := receiver(t, d, "q")
	rabbittest.Manage(t, url, http.MethodDelete, "/api/queues/{vhost}/q", nil)
	if _, err := r.Receive(within(t, patience), 1); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Receive: %v", err)
	}
	if _, err := d.Open(t.Context(), "q"); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if errs := d.Send(t.Context(), "q", numbered(1), driver.Limits{}); !errors.Is(errs[0], driver.ErrNotFound) {
		t.Errorf("Send: %v", errs)
	}
}

// A deleted exchange refuses all messages: the first is alone on its way, so the others are not uncertain.
func TestExchangeDeleted(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	exchange(t, url, "orders", "topic")
	declare(t, url, "q", map[string]any{})
	bind(t, url, "orders", "q", "#")
	d := open(t, url)
	send(t, d, "exchange:orders/x", numbered(3)...)
	rabbittest.Manage(t, url, http.MethodDelete, "/api/exchanges/{vhost}/orders", nil)
	for i, err := range d.Send(t.Context(), "exchange:orders/x", numbered(300), driver.Limits{}) {
		if !errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrUncertain) {
			t.Fatalf("message %d to an exchange that does not exist: %v", i+1, err)
		}
	}
	exchange(t, url, "orders", "topic")
	bind(t, url, "orders", "q", "#")
	send(t, d, "exchange:orders/x", numbered(300)...)
}

// A missing permission refuses each message, and affects no other destination.
func TestPermissions(t *testing.T) {
	t.Parallel()
	owner := rabbittest.Shared(t)
	exchange(t, owner, "orders", "fanout")
	exchange(t, owner, "secret", "fanout")
	declare(t, owner, "q", map[string]any{})
	bind(t, owner, "orders", "q", "")
	bind(t, owner, "secret", "q", "")
	d := open(t, rabbittest.NewUser(t, owner, "^$", "^orders$", "^dead$"))
	for target, allowed := range map[string]bool{"exchange:orders/k": true, "exchange:secret/k": false, "q": false} {
		for _, err := range d.Send(t.Context(), target, numbered(3), driver.Limits{}) {
			if allowed && err != nil || !allowed && !errors.Is(err, driver.ErrRefused) {
				t.Errorf("send to %s: %v", target, err)
			}
		}
		if exists, _, err := d.Stat(t.Context(), target); err != nil || !exists {
			t.Errorf("Stat of %s needs no permission: %t, %v", target, exists, err)
		}
	}
	if _, err := d.Open(t.Context(), "q"); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("receive without permission: %v", err)
	}
	readOnly := open(t, rabbittest.NewUser(t, owner, "^$", "^$", "^q$"))
	ack(t, receiver(t, readOnly, "q"), nil)
}

// An exclusive queue of another consumer, and a wrong URL, are refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	declare(t, url, "q", map[string]any{})
	if _, err := application(t, url).Consume("q", "", false, true, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, url).Open(t.Context(), "q"); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("a queue with an exclusive consumer: %v", err)
	}
	for _, parameters := range []string{"?prefetch=0", "?prefetch=70000", "?prefetch=x", "?prefetc=1"} {
		if _, err := rabbitmq.Open(t.Context(), url+parameters); err == nil {
			t.Errorf("%s is taken", parameters)
		}
	}
	if _, err := rabbitmq.Open(t.Context(), url+"x"); err == nil || errors.Is(err, driver.ErrNotFound) {
		t.Errorf("a virtual host that does not exist: %v", err)
	}
}

// A fixed prefetch bounds what the server sends ahead, in order.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	declare(t, url, "q", map[string]any{})
	send(t, open(t, url), "q", numbered(1200)...)
	r := receiver(t, open(t, url+"?prefetch=3"), "q")
	if got := receive(t, r, 3); payloads(got) != "1 2 3" {
		t.Errorf("received %s", payloads(got))
	}
	if got, err := r.Receive(within(t, 100*time.Millisecond), 10); err == nil {
		t.Errorf("%d more came than the prefetch", len(got))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// The driver's own prefetch grows unnoticed.
	var want, got []driver.Message
	want = numbered(1200)
	r = receiver(t, open(t, url), "q")
	for len(got) < 1200 {
		batch := receive(t, r, min(100, 1200-len(got)))
		if len(got)%400 == 0 {
			ack(t, r, batch)
		}
		got = append(got, batch...)
	}
	if payloads(got) != payloads(want) {
		t.Error("messages came in another order")
	}
}

// With TLS, and a certificate of the client.
func TestTLS(t *testing.T) {
	t.Parallel()
	s, files := rabbittest.StartTLS(t, true)
	declare(t, s.URL(), "q", map[string]any{})
	d := open(t, files.URL+"?cacertfile="+files.CA+"&certfile="+files.Cert+"&keyfile="+files.Key)
	send(t, d, "q", driver.Message{Payload: []byte("x")})
	if got := get(t, application(t, s.URL()), "q"); string(got.Body) != "x" || got.DeliveryMode != amqp091.Persistent {
		t.Errorf("it is %+v", got)
	}
}

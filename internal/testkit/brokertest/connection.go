package brokertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// connectionTests are about the begin and the end of connections.
var connectionTests = map[string]func(*testing.T, *Broker){
	"CloseTwice":            closeTwice,
	"CloseEndsReceive":      closeEndsReceive,
	"ClosedIsClosed":        closedIsClosed,
	"NothingLostWhenCut":    nothingLostWhenCut,
	"ConfirmedSurvivesStop": confirmedSurvivesStop,
}

// closeTwice: a second Close succeeds, so that callers may defer it, too.
func closeTwice(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	r := Receiver(t, d, queue)
	closed(t, r)
	closed(t, r)
	closed(t, d)
	closed(t, d)
}

// closeEndsReceive: closing the receiver or the connection ends a waiting Receive with an error.
func closeEndsReceive(t *testing.T, b *Broker) {
	queue := b.NewQueue(t)
	for name, end := range map[string]func(driver.Driver, driver.Receiver){
		"receiver": func(_ driver.Driver, r driver.Receiver) { closed(t, r) },
		"driver":   func(d driver.Driver, _ driver.Receiver) { closed(t, d) },
	} {
		d := b.connect(t)
		r := Receiver(t, d, queue)
		done := make(chan error)
		go func() {
			_, err := r.Receive(t.Context(), 1)
			done <- err
		}()
		end(d, r)
		if err := <-done; err == nil {
			t.Fatalf("Receive returned no error after the %s was closed", name)
		}
	}
}

// closedIsClosed: nothing works after Close, and an unsent message is not uncertain.
func closedIsClosed(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(1)...)
	r := Receiver(t, d, queue)
	closed(t, r)
	if _, err := r.Receive(t.Context(), 1); err == nil {
		t.Error("a closed receiver receives")
	}
	closed(t, d)
	if _, err := d.Open(t.Context(), queue); err == nil {
		t.Error("a closed driver opens a queue")
	}
	if errs := d.Send(t.Context(), queue, b.numbered(1), driver.Limits{}); len(errs) != 1 || errs[0] == nil {
		t.Errorf("Send of a closed driver returned %v", errs)
		// Uncertain would make a redrive mark the letter; permanent would fail it. Neither is true here.
	} else if errors.Is(errs[0], driver.ErrUncertain) || driver.Permanent(errs[0]) {
		t.Errorf("Send of a closed driver returned %v, which says that it may have been sent, or never can be", errs[0])
	}
	if _, _, err := d.Stat(t.Context(), queue); err == nil {
		t.Error("a closed driver answers Stat")
	}
}

// nothingLostWhenCut sends and receives while connections break, with reconnects. Every confirmed message is delivered,
// and none again after its acknowledgement.
func nothingLostWhenCut(t *testing.T, b *Broker) {
	if b.Cut == nil {
		t.Skip("Broker.Cut is nil: the test cannot cut connections")
	}
	queue := b.NewQueue(t)
	const total, every = 300, 60
	d := b.connect(t)
	confirmed := map[string]bool{}
	for i := range total {
		if i%every == every-1 {
			b.Cut(t)
		}
		payload := fmt.Sprint(i)
		if errs := d.Send(t.Context(), queue, []driver.Message{{Payload: []byte(payload)}}, driver.Limits{}); len(errs) > 0 &&
			errs[0] != nil {
			// Replaced as package broker does. The outcome is unknown.
			d = b.connect(t)
			continue
		}
		confirmed[payload] = true
	}
	// Otherwise the test would prove nothing.
	if len(confirmed) < total/2 {
		t.Fatalf("only %d messages of %d were confirmed", len(confirmed), total)
	}
	ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
	defer cancel()
	acked := map[string]bool{}
	var r driver.Receiver
	// Unconfirmed messages may be delivered, too.
	for round := 0; len(confirmed) > 0; round++ {
		if r == nil {
			r = Receiver(t, b.connect(t), queue)
		}
		// Cut while receiving, too.
		if round%5 == 4 {
			b.Cut(t)
		}
		batch, err := r.Receive(ctx, 20)
		if ctx.Err() != nil {
			t.Fatalf("%d confirmed messages were never delivered", len(confirmed))
		}
		// A failed acknowledgement may have worked: such messages may come again, and are not noted.
		if err != nil || r.Ack(ctx, batch) != nil {
			r = nil
			continue
		}
		for _, p := range payloads(batch) {
			if acked[p] {
				t.Errorf("message %s was delivered after it was acknowledged", p)
			}
			acked[p] = true
			delete(confirmed, p)
		}
	}
}

// confirmedSurvivesStop: a confirmed message is durable.
func confirmedSurvivesStop(t *testing.T, b *Broker) {
	if b.Stop == nil {
		t.Skip("Broker.Stop is nil: the test cannot stop the broker")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(100)...)
	b.Stop(t)
	// A send to a stopped broker must fail or be uncertain.
	for _, err := range d.Send(t.Context(), queue, b.numbered(2), driver.Limits{}) {
		if err == nil {
			t.Error("a stopped broker confirmed a message")
		}
	}
	b.Start(t)
	got := b.receive(t, b.reopen(t, queue), 100)
	for i, m := range got {
		if string(m.Payload) != fmt.Sprint(i+1) {
			t.Fatalf("message %d is %q", i+1, m.Payload)
		}
	}
}

// reopen opens a queue of a restarted broker, with retries: it may still search for the queue's leader.
func (b *Broker) reopen(t *testing.T, queue string) driver.Receiver {
	t.Helper()
	for end := time.Now().Add(b.Patience); ; time.Sleep(50 * time.Millisecond) {
		d, err := driver.Registry{"tested": b.Open}.Open(t.Context(), "tested", b.URL)
		if err == nil {
			t.Cleanup(func() { _ = d.Close() })
			var r driver.Receiver
			if r, err = d.Open(t.Context(), queue); err == nil {
				t.Cleanup(func() { _ = r.Close() })
				return r
			}
		}
		if time.Now().After(end) {
			t.Fatalf("open %s of a broker that was started again: %v", queue, err)
		}
	}
}

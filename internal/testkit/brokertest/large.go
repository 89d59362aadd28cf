package brokertest

import (
	"bytes"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// largeIsLeft: a message that its reader does not take stays on the broker, and later ones come. The next receiver gets
// it, or finds it where the driver says.
func largeIsLeft(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	large := bytes.Repeat([]byte("large"), 1000)
	Send(t, d, queue, driver.Message{Payload: []byte("1")}, driver.Message{Payload: large},
		driver.Message{Payload: []byte("2")})
	r := Receiver(t, d, queue)
	got := b.receive(t, r, 3)
	Ack(t, r, []driver.Message{got[0], got[2]})
	again, err := r.Leave(t.Context(), got[1:2])
	if err != nil {
		t.Fatalf("leave: %v", err)
	}
	Send(t, d, queue, b.numbered(100)...)
	Ack(t, r, b.receive(t, r, 100))
	nothing(t, r)
	closed(t, r)
	switch r := Receiver(t, b.connect(t), queue); {
	case again:
		b.takenBack(t, r, large)
	default:
		at := got[1].Log
		kept, next, err := d.ReadLog(t.Context(), queue, at, 10)
		if err != nil || len(kept) != 1 || next != at.To || !bytes.Equal(kept[0].Payload, large) {
			t.Fatalf("the log has %d messages up to %d at %+v: %v", len(kept), next, at, err)
		}
		nothing(t, r)
	}
}

// takenBack receives the remaining message, and no other.
func (b *Broker) takenBack(t *testing.T, r driver.Receiver, large []byte) {
	t.Helper()
	// First still too large, then not. A receiver that puts nothing aside has it anyway.
	aside, err := r.Return(t.Context(), len(large)-1)
	if err != nil || len(aside) > 1 || len(aside) == 1 && (aside[0].Bytes != len(large) || aside[0].Position == "") {
		t.Fatalf("%+v is aside: %v", aside, err)
	}
	if len(aside) == 1 {
		nothing(t, r)
	}
	if rest, err := r.Return(t.Context(), len(large)); err != nil || len(rest) > 0 {
		t.Fatalf("%d messages stay aside: %v", len(rest), err)
	}
	got := b.receive(t, r, 1)
	if !bytes.Equal(got[0].Payload, large) {
		t.Fatalf("%d bytes come back", len(got[0].Payload))
	}
	Ack(t, r, got)
	nothing(t, r)
}

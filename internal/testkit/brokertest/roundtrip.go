package brokertest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// roundTripTests are about messages that are received and sent back, as letters are.
var roundTripTests = map[string]func(*testing.T, *Broker){
	"EmptyIsNotNothing": emptyIsNotNothing,
	"SecondTripIsSame":  secondTripIsSame,
	"TakenCounts":       takenCounts,
}

func oddMessages() []driver.Message {
	h := func(pairs ...string) (list []deadletter.Header) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, deadletter.Header{Name: pairs[i], Value: []byte(pairs[i+1])})
		}
		return list
	}
	return []driver.Message{
		{Payload: []byte{}},
		{Payload: []byte{}, Headers: h("a", "1")},
		{Payload: []byte{}, Headers: h("a", ""), Key: []byte{}},
		{Payload: []byte("x"), Headers: h("a", "", "b", "\x00\xff", "a", "", "a", "2"), Key: []byte{}, MessageID: "id"},
		{Payload: []byte("x"), Headers: h("payload", "y", "key", "", "message_id", "", "header.key", "k", "amqp-x", "")},
		{Payload: []byte("x"), Headers: h("payload", "y", "payload", "z", "key", "k"), Key: []byte("k")},
	}
}

// emptyIsNotNothing: an empty part arrives as empty, not as missing.
func emptyIsNotNothing(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	want := oddMessages()[:3]
	Send(t, d, queue, want...)
	r := Receiver(t, d, queue)
	got := b.receive(t, r, len(want))
	for i := range want {
		b.sameContent(t, i, &got[i], &want[i])
		if got[i].Payload == nil && b.Own != "" && len(want[i].Headers) == 0 {
			t.Errorf("message %d has no payload, want an empty one", i)
		}
	}
	Ack(t, r, got)
}

// secondTripIsSame: a message sent back with a redrive's header is received unchanged: names, order and values of its
// headers, and empty parts.
func secondTripIsSame(t *testing.T, b *Broker) {
	d, queue, other := b.connect(t), b.NewQueue(t), b.NewQueue(t)
	Send(t, d, queue, oddMessages()...)
	r := Receiver(t, d, queue)
	first := b.receive(t, r, len(oddMessages()))
	again := make([]driver.Message, len(first))
	for i, m := range first {
		again[i] = driver.Message{Key: m.Key, Payload: m.Payload, MessageID: m.MessageID,
			Headers: append(slices.Clone(m.Headers), deadletter.Header{Name: deadletter.HeaderLetter, Value: []byte("1")})}
	}
	Send(t, d, other, again...)
	r2 := Receiver(t, d, other)
	second := b.receive(t, r2, len(again))
	for i := range first {
		x, y := &first[i], &second[i]
		y.Headers = slices.DeleteFunc(y.Headers, func(h deadletter.Header) bool { return h.Name == deadletter.HeaderLetter })
		same := func(a, b deadletter.Header) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) }
		if !bytes.Equal(x.Payload, y.Payload) || !bytes.Equal(x.Key, y.Key) || (x.Key == nil) != (y.Key == nil) ||
			x.MessageID != y.MessageID || !slices.EqualFunc(x.Headers, y.Headers, same) {
			t.Errorf("message %d came back as %q (key %q) with %q, and was %q (key %q) with %q", i, y.Payload, y.Key,
				y.Headers, x.Payload, x.Key, x.Headers)
		}
	}
	Ack(t, r, first)
	Ack(t, r2, second)
}

// takenCounts: Stat or the receiver counts unacknowledged messages; otherwise a queue whose messages are being stored
// would look empty.
func takenCounts(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	r := Receiver(t, d, queue)
	waits := func(step string, want int64) {
		t.Helper()
		deadline := time.Now().Add(b.Patience) // a broker may be late to count an acknowledgement
		for {
			_, n, err := d.Stat(t.Context(), queue)
			if err != nil {
				t.Fatal(err)
			}
			n += max(r.Held(), 0)
			if n == want {
				return
			}
			if time.Now().After(deadline) || n >= 0 && n < want {
				t.Fatalf("%s, %d messages are counted, want %d", step, n, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	Send(t, d, queue, b.numbered(7)...)
	got := b.receive(t, r, 5)
	waits("after 5 of 7 were received", 7)
	Ack(t, r, got[:3])
	waits("after 3 were acknowledged", 4)
	Ack(t, r, append(got[3:], b.receive(t, r, 2)...))
	waits("after all were acknowledged", 0)
}

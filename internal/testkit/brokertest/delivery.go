package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// deliveryTests are about receivers, repetitions and order.
var deliveryTests = map[string]func(*testing.T, *Broker){
	"OrderWithinKey":          orderWithinKey,
	"AckIsForGood":            ackIsForGood,
	"AckOfSome":               ackOfSome,
	"AckTwice":                ackTwice,
	"ReleaseGivesBack":        releaseGivesBack,
	"CloseGivesBack":          closeGivesBack,
	"RedeliveryIsMarked":      redeliveryIsMarked,
	"ConcurrentReceivers":     concurrentReceivers,
	"ConcurrentSenders":       concurrentSenders,
	"ReceiveWaits":            receiveWaits,
	"CancelledReceiveIsSafe":  cancelledReceiveIsSafe,
	"CancelledSendIsReported": cancelledSendIsReported,
	"BatchesAreBounded":       batchesAreBounded,
	"QueuesAreSeparate":       queuesAreSeparate,
	"LargeIsLeft":             largeIsLeft,
}

// orderWithinKey: messages of one key keep their order.
func orderWithinKey(t *testing.T, b *Broker) {
	if b.NoKeys {
		t.Skip("Broker.NoKeys: messages have no keys")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	const keys, each = 7, 100
	for i := range each {
		var batch []driver.Message
		// One message of every key per batch, to interleave keys.
		for k := range keys {
			batch = append(batch, driver.Message{Key: []byte{byte(k)}, Payload: fmt.Append(nil, i)})
		}
		Send(t, d, queue, batch...)
	}
	r := Receiver(t, d, queue)
	next := map[string]int{}
	for range keys * each / 50 {
		got := b.receive(t, r, 50)
		for _, m := range got {
			if want := fmt.Sprint(next[string(m.Key)]); string(m.Payload) != want {
				t.Fatalf("key %q has %s, want %s", m.Key, m.Payload, want)
			}
			next[string(m.Key)]++
		}
		Ack(t, r, got)
	}
}

// ackIsForGood: an acknowledged message does not come back, not even to another connection.
func ackIsForGood(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(10)...)
	r := Receiver(t, d, queue)
	Ack(t, r, b.receive(t, r, 10))
	closed(t, r)
	closed(t, d)
	// A new message first: otherwise an empty queue would pass even if the driver delivers late.
	Send(t, b.connect(t), queue, driver.Message{Payload: []byte("last")})
	r = Receiver(t, b.connect(t), queue)
	if got := payloads(b.receive(t, r, 1)); got[0] != "last" {
		t.Fatalf("received %q after it was acknowledged", got)
	}
	nothing(t, r)
}

// ackOfSome: the rest of a partly acknowledged batch comes back, in order.
func ackOfSome(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(10)...)
	r := Receiver(t, d, queue)
	got := b.receive(t, r, 10)
	Ack(t, r, got[:4])
	closed(t, r)
	b.sameOrder(t, payloads(b.receive(t, Receiver(t, d, queue), 6)), "5", "6", "7", "8", "9", "10")
}

// sameOrder compares payloads, in order if the broker keeps it.
func (b *Broker) sameOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	if b.NoOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("received %q, want %q", got, want)
	}
}

// ackTwice: a second acknowledgement succeeds and does not take another message.
func ackTwice(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(3)...)
	r := Receiver(t, d, queue)
	got := b.receive(t, r, 2)
	Ack(t, r, got)
	Ack(t, r, got)
	Ack(t, r, got[:1])
	if rest := payloads(b.receive(t, r, 1)); rest[0] != "3" {
		t.Fatalf("received %q, want the third message", rest)
	}
}

// releaseGivesBack: released messages come again, once, and nothing is lost.
func releaseGivesBack(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(10)...)
	r := Receiver(t, d, queue)
	got := b.receive(t, r, 6)
	Ack(t, r, got[:2])
	if err := r.Release(t.Context(), got[2:]); err != nil {
		t.Fatalf("release: %v", err)
	}
	closed(t, r) // where only that gives back
	r = Receiver(t, d, queue)
	again := b.receive(t, r, 8)
	b.sameOrder(t, payloads(again), "3", "4", "5", "6", "7", "8", "9", "10")
	Ack(t, r, again)
	nothing(t, r)
}

// closeGivesBack: unacknowledged messages come again after each Close.
func closeGivesBack(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(5)...)
	for range 3 {
		r := Receiver(t, d, queue)
		b.sameOrder(t, payloads(b.receive(t, r, 5)), "1", "2", "3", "4", "5")
		closed(t, r)
	}
	other := b.connect(t)
	r := Receiver(t, other, queue)
	b.receive(t, r, 5)
	closed(t, other) // with its receivers
	b.sameOrder(t, payloads(b.receive(t, Receiver(t, d, queue), 5)), "1", "2", "3", "4", "5")
}

// redeliveryIsMarked: the mark distinguishes a second delivery.
func redeliveryIsMarked(t *testing.T, b *Broker) {
	if b.NoMark {
		t.Skip("Broker.NoMark: the broker does not mark redelivered messages")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(1)...)
	r := Receiver(t, d, queue)
	if b.receive(t, r, 1)[0].Redelivered {
		t.Error("the first delivery is marked as a redelivery")
	}
	closed(t, r)
	if !b.receive(t, Receiver(t, d, queue), 1)[0].Redelivered {
		t.Error("the second delivery is not marked")
	}
}

// concurrentReceivers: several receivers share a queue, and each message goes to one of them.
func concurrentReceivers(t *testing.T, b *Broker) {
	if b.Exclusive {
		t.Skip("Broker.Exclusive: one receiver at a time gets the messages of a queue")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	const receivers, total = 4, 1000
	ctx, cancel := context.WithTimeout(t.Context(), b.Patience)
	defer cancel()
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for range receivers {
		// Separate connections, as in different processes.
		r := Receiver(t, b.connect(t), queue)
		wg.Go(func() {
			for {
				// 17 divides neither the number of messages nor a batch.
				batch, err := r.Receive(ctx, 17)
				if err != nil {
					return
				}
				if err := r.Ack(ctx, batch); err != nil {
					t.Errorf("ack: %v", err)
				}
				mu.Lock()
				for _, p := range payloads(batch) {
					counts[p]++
				}
				if len(counts) == total {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for i := 0; i < total; i += 100 {
		Send(t, d, queue, b.numbered(total)[i:i+100]...)
	}
	wg.Wait()
	for p, n := range counts {
		if n != 1 {
			t.Errorf("message %s was delivered %d times", p, n)
		}
	}
	if len(counts) != total {
		t.Errorf("%d messages of %d were delivered", len(counts), total)
	}
}

// concurrentSenders: a connection serves concurrent senders.
func concurrentSenders(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	const senders, each = 8, 50
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				one := []driver.Message{{Payload: fmt.Append(nil, s, "/", i)}}
				for _, err := range d.Send(t.Context(), queue, one, driver.Limits{}) {
					if err != nil {
						t.Errorf("send: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	got := payloads(b.receive(t, Receiver(t, d, queue), senders*each))
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != senders*each {
		t.Fatalf("%d different messages of %d were delivered", n, senders*each)
	}
}

// receiveWaits: Receive on an empty queue returns as soon as a message arrives.
func receiveWaits(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	r := Receiver(t, d, queue)
	got := make(chan []driver.Message)
	go func() {
		batch, err := r.Receive(t.Context(), 10)
		if err != nil {
			t.Errorf("receive: %v", err)
		}
		got <- batch
	}()
	Send(t, d, queue, b.numbered(1)...)
	if batch := <-got; len(batch) != 1 {
		t.Fatalf("a waiting Receive returned %d messages", len(batch))
	}
}

// cancelledReceiveIsSafe: a cancelled Receive never loses a message.
func cancelledReceiveIsSafe(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	r := Receiver(t, d, queue)
	const total = 200
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, m := range b.numbered(total) {
			for _, err := range d.Send(t.Context(), queue, []driver.Message{m}, driver.Limits{}) {
				if err != nil {
					t.Errorf("send: %v", err)
				}
			}
		}
	}()
	// Each Receive either returns a message or leaves it.
	seen := map[string]bool{}
	for i := range total {
		ctx, cancel := context.WithCancel(t.Context())
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			if i%2 == 0 {
				cancel()
			}
		}()
		// Half of them are cancelled before they begin, half while they wait.
		if i%2 != 0 {
			cancel()
		}
		batch, err := r.Receive(ctx, 1)
		<-stop
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled Receive returned %v", err)
		}
		for _, p := range payloads(batch) {
			seen[p] = true
		}
	}
	<-done
	// The messages of cancelled receives must still be there.
	for len(seen) < total {
		for _, p := range payloads(b.receive(t, r, 1)) {
			if seen[p] {
				t.Fatalf("message %s was delivered twice to one receiver", p)
			}
			seen[p] = true
		}
	}
}

// cancelledSendIsReported: a cancelled Send has an error for each unconfirmed message, and confirms no missing one.
func cancelledSendIsReported(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := d.Send(ctx, queue, b.numbered(3), driver.Limits{})
	if len(errs) != 3 {
		t.Fatalf("a cancelled Send of 3 returned %d errors", len(errs))
	}
	// A driver may have sent some before it saw the end of the context.
	sent := 0
	for _, err := range errs {
		if err == nil {
			sent++
		}
	}
	Send(t, d, queue, driver.Message{Payload: []byte("end")})
	for _, p := range payloads(b.receive(t, Receiver(t, d, queue), sent+1)) {
		// The last message came with at most the confirmed ones before it, so none is missing.
		if p == "end" {
			sent = 0
		}
	}
	if sent != 0 {
		t.Fatalf("Send confirmed %d messages more than there are", sent)
	}
}

// batchesAreBounded: a batch has about driver.BatchBytes, for any requested number.
func batchesAreBounded(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	size := min(b.MaxPayload, driver.BatchBytes/4)
	n := 3*driver.BatchBytes/size + 1
	for range n {
		Send(t, d, queue, driver.Message{Payload: make([]byte, size)})
	}
	r := Receiver(t, d, queue)
	for got := 0; got < n; {
		batch := b.receive(t, r, 1)
		more, err := r.Receive(t.Context(), n)
		if got+1 < n && err != nil {
			t.Fatalf("receive: %v", err)
		}
		// Twice: a driver stops after the message that exceeds the bound, and some brokers add their own batch.
		if total := len(more) * size; total > 2*driver.BatchBytes {
			t.Fatalf("a batch has %d bytes, want about %d", total, driver.BatchBytes)
		}
		Ack(t, r, slices.Concat(batch, more))
		if got += 1 + len(more); got == n-1 {
			Ack(t, r, b.receive(t, r, 1))
			got++
		}
	}
}

func queuesAreSeparate(t *testing.T, b *Broker) {
	d := b.connect(t)
	one, other := b.NewQueue(t), b.NewQueue(t)
	Send(t, d, one, driver.Message{Payload: []byte("one")})
	Send(t, d, other, driver.Message{Payload: []byte("other")})
	r := Receiver(t, d, other)
	if got := payloads(b.receive(t, r, 1)); got[0] != "other" {
		t.Fatalf("received %q", got)
	}
	nothing(t, r)
	if got := payloads(b.receive(t, Receiver(t, d, one), 1)); got[0] != "one" {
		t.Fatalf("received %q", got)
	}
}

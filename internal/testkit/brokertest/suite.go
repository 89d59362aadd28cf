// Package brokertest is the conformance suite that every driver passes, on a real server where it has one. It uses only
// the seam in package driver; [Broker] declares a broker's limitations, which skip subtests.
//
// content.go is about the parts of a message, roundtrip.go about messages that are sent back, delivery.go about
// receivers, connection.go about connections, outcome.go about the results of sends. A driver's test describes its
// broker and calls [Run].
package brokertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Broker is a broker under test.
type Broker struct {
	Open driver.OpenFunc
	URL  string
	// NewQueue creates an empty queue with a unique name.
	NewQueue func(t *testing.T) string
	// Missing is the name of a missing queue.
	Missing string
	// Cut breaks all connections of the driver; nil if impossible.
	Cut func(t *testing.T)
	// Stop ends the server, and Start restarts it with its content; nil if impossible.
	Stop, Start func(t *testing.T)

	// Network carries connections to NetworkURL; nil for none.
	Network    *Network
	NetworkURL string
	// Forbidden is a queue to which the user may not send; "" for none.
	Forbidden string
	// Refuse makes the broker refuse sends to a queue until Accept; nil if impossible.
	Refuse, Accept func(t *testing.T, queue string)
	// Delete deletes a queue; nil if impossible, or if missing queues are empty ones.
	Delete func(t *testing.T, queue string)

	// Patience bounds the suite's waits. Defaults to the constant.
	Patience time.Duration
	// MaxPayload bounds the largest payload of the suite. Defaults to 10 MiB.
	MaxPayload int
	// TooLarge is a size that the broker refuses in one message; 0: none.
	TooLarge int

	// Own is the prefix of headers that the driver adds on receipt, and does not send; "" for none.
	Own string
	// NoHeaders, NoKeys, NoMessageIDs: messages have none on this broker.
	NoHeaders, NoKeys, NoMessageIDs bool
	// NoMissing: a missing queue is an empty one, for senders and receivers.
	NoMissing bool
	// NewPositions: a released message has another position.
	NewPositions bool
	// NoMark: the broker does not mark redelivered messages.
	NoMark bool
	// Exclusive: only one receiver at a time gets the messages of a queue.
	Exclusive bool
	// NoOrder: released messages come in another order.
	NoOrder bool
}

// Run runs the suite on a started broker; each subtest has its own queues. At the end no goroutine of the driver may be
// left, so no other test of the process runs concurrently.
func Run(t *testing.T, b Broker) {
	t.Helper()
	if b.MaxPayload == 0 {
		b.MaxPayload = 10 << 20
	}
	if b.Patience == 0 {
		b.Patience = Patience
	}
	before := goleak.IgnoreCurrent()
	for _, group := range []map[string]func(*testing.T, *Broker){contentTests, roundTripTests, deliveryTests,
		connectionTests, outcomeTests} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, &b) })
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("the driver leaves goroutines behind: %v", err)
	}
}

// connect opens a connection for the test as the server does, through a registry, which guards the driver and hides
// secrets.
func (b *Broker) connect(t *testing.T) driver.Driver {
	t.Helper()
	d, err := driver.Registry{"tested": b.Open}.Open(t.Context(), "tested", b.URL)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the driver: %v", err)
		}
	})
	return d
}

func (b *Broker) receive(t *testing.T, r driver.Receiver, n int) []driver.Message {
	t.Helper()
	return receiveWithin(t, r, n, b.Patience)
}

// nothing checks that there is nothing to receive for a moment. A late driver passes, so a test must not rely on it
// alone.
func nothing(t *testing.T, r driver.Receiver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := r.Receive(ctx, 10); err == nil {
		t.Fatalf("there are %d messages, the first %q; want none", len(got), got[0].Payload)
	}
}

func closed(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// numbered returns messages with the payloads "1" to "n", with one key unless NoKeys.
func (b *Broker) numbered(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i].Payload = fmt.Append(nil, i+1)
		if !b.NoKeys {
			out[i].Key = []byte("key")
		}
	}
	return out
}

func payloads(messages []driver.Message) []string {
	out := make([]string, len(messages))
	for i := range messages {
		out[i] = string(messages[i].Payload)
	}
	return out
}

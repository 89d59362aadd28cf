// Package brokertest is the conformance suite that every driver passes, on a real server where it has one. It knows
// only the seam in package driver; what a broker cannot do is declared in [Broker], and shown by a skipped subtest.
//
// content.go is about what a message is made of, roundtrip.go about what is left of it once it was received and sent
// back, delivery.go about who gets it, connection.go about the beginning and the end of connections, outcome.go about
// what a sender learns. A driver's own test describes its broker and calls [Run].
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
	// Open is the driver's; URL is that of the server.
	Open driver.OpenFunc
	URL  string
	// NewQueue creates a queue that is empty, and whose name no other test uses.
	NewQueue func(t *testing.T) string
	// Missing is the name of a queue that does not exist.
	Missing string
	// Cut breaks all connections of the driver, as a network would; nil where a test cannot.
	Cut func(t *testing.T)
	// Stop ends the server, and Start brings it back with what it holds; nil where a test cannot.
	Stop, Start func(t *testing.T)

	// Network is what connections to NetworkURL pass; nil where a test has none.
	Network    *Network
	NetworkURL string
	// Forbidden is a queue to which the user may not send; "" where there is none.
	Forbidden string
	// Refuse has the broker refuse for a moment what is sent to a queue, and Accept ends that; nil where a test cannot.
	Refuse, Accept func(t *testing.T, queue string)
	// Delete deletes a queue; nil where a test cannot, or a queue that does not exist is an empty one.
	Delete func(t *testing.T, queue string)

	// Patience is how long the suite waits for what must happen; only a driver that fails uses it up. Defaults to that
	// of the drivers' own tests.
	Patience time.Duration
	// MaxPayload bounds the payload of the largest message that the suite sends. Defaults to 10 MiB.
	MaxPayload int
	// TooLarge is a number of bytes that the broker refuses in one message; 0: it takes any.
	TooLarge int

	// Own is a prefix of names of headers that the driver adds to what it receives, and does not send; "" for none.
	Own string
	// NoHeaders, NoKeys, NoMessageIDs: messages have none on this broker.
	NoHeaders, NoKeys, NoMessageIDs bool
	// NoMissing: a queue that does not exist is an empty one, for senders and receivers alike.
	NoMissing bool
	// NewPositions: a message that was given back has another position.
	NewPositions bool
	// NoMark: the broker does not mark redelivered messages.
	NoMark bool
	// Exclusive: only one receiver at a time gets the messages of a queue.
	Exclusive bool
	// NoOrder: messages that were given back come in another order.
	NoOrder bool
}

// Run runs the suite. The broker is started already, and each subtest has queues of its own. At the end no goroutine of
// the driver may be left; therefore no other test of the process runs at the same time.
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

// connect opens a connection that the test closes at its end. It opens it as the server does, through a registry, which
// guards the driver and hides secrets.
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

// receive receives exactly n messages.
func (b *Broker) receive(t *testing.T, r driver.Receiver, n int) []driver.Message {
	t.Helper()
	return receiveWithin(t, r, n, b.Patience)
}

// nothing checks that there is nothing to receive for a moment. A driver that delivers late passes, so a test must have
// another reason to trust it.
func nothing(t *testing.T, r driver.Receiver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := r.Receive(ctx, 10); err == nil {
		t.Fatalf("there are %d messages, the first %q; want none", len(got), got[0].Payload)
	}
}

// closed closes a receiver or a driver.
func closed(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// numbered returns messages with the payloads "1" to "n", which have one key unless the broker has none.
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

// payloads returns the payloads of messages, as text.
func payloads(messages []driver.Message) []string {
	out := make([]string, len(messages))
	for i := range messages {
		out[i] = string(messages[i].Payload)
	}
	return out
}

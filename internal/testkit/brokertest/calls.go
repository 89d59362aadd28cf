package brokertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Patience bounds the waits of driver tests.
const Patience = 2 * time.Minute

// Receiver opens a receiver, which is closed with the test.
func Receiver(t testing.TB, d driver.Driver, queue string) driver.Receiver {
	t.Helper()
	r, err := d.Open(t.Context(), queue)
	if err != nil {
		t.Fatalf("open %s: %v", queue, err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Receive receives exactly n messages.
func Receive(t testing.TB, r driver.Receiver, n int) []driver.Message {
	t.Helper()
	return receiveWithin(t, r, n, Patience)
}

func receiveWithin(t testing.TB, r driver.Receiver, n int, patience time.Duration) []driver.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []driver.Message
	for len(got) < n {
		batch, err := r.Receive(ctx, n-len(got))
		if err != nil {
			t.Fatalf("receive, with %d of %d messages: %v", len(got), n, err)
		}
		if len(batch) == 0 || len(batch) > n-len(got) {
			t.Fatalf("Receive(%d) returned %d messages", n-len(got), len(batch))
		}
		got = append(got, batch...)
	}
	return got
}

// Send sends messages, all of which must be confirmed.
func Send(t testing.TB, d driver.Driver, target string, messages ...driver.Message) {
	t.Helper()
	for i, err := range d.Send(t.Context(), target, messages, driver.Limits{}) {
		if err != nil {
			t.Fatalf("send message %d of %d: %v", i+1, len(messages), err)
		}
	}
}

// Ack acknowledges messages.
func Ack(t testing.TB, r driver.Receiver, messages []driver.Message) {
	t.Helper()
	if err := r.Ack(t.Context(), messages); err != nil {
		t.Fatalf("ack: %v", err)
	}
}

// Payloads returns the payloads of messages, with spaces between them.
func Payloads(messages []driver.Message) string { return strings.Join(payloads(messages), " ") }

// Headers returns the headers of a message by name.
func Headers(m *driver.Message) map[string]string {
	out := map[string]string{}
	for _, h := range m.Headers {
		out[h.Name] = string(h.Value)
	}
	return out
}

// Header returns one header.
func Header(name, value string) []deadletter.Header {
	return []deadletter.Header{{Name: name, Value: []byte(value)}}
}

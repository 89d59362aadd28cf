package rabbitmq_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

func BenchmarkDriver(b *testing.B) {
	url := rabbittest.Shared(b)
	declare(b, url, "q", map[string]any{})
	d := open(b, url)
	batch := make([]driver.Message, 500)
	for i := range batch {
		batch[i] = driver.Message{Payload: make([]byte, 1024), MessageID: "a message",
			Headers: append(header("a", "value"), header("another", "value")...)}
	}
	rate := func(b *testing.B) {
		b.Helper()
		b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "messages/s")
	}
	b.Run("Send", func(b *testing.B) {
		for b.Loop() {
			send(b, d, "q", batch...)
		}
		rate(b)
	})
	b.Run("Receive", func(b *testing.B) {
		for range b.N + 1 {
			send(b, d, "q", batch...)
		}
		r := receiver(b, open(b, url), "q")
		b.ResetTimer()
		for range b.N {
			ack(b, r, receive(b, r, len(batch)))
		}
		rate(b)
	})
}

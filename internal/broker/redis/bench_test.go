package redis_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

func BenchmarkThroughput(b *testing.B) {
	for name, kind := range kinds {
		s := server(b)
		d := open(b, kind.open, as(b, s, kind.user, ""))
		batch := make([]driver.Message, 500)
		n := 0
		fill := func(b *testing.B, queue string) {
			for i := range batch {
				n++
				batch[i] = driver.Message{Payload: bytes.Repeat([]byte("x"), 1024), SendID: fmt.Sprint(n)}
			}
			send(b, d, queue, batch...)
		}
		b.Run(name+"/Send", func(b *testing.B) {
			queue := kind.queue(b, s)
			for b.Loop() {
				fill(b, queue)
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "msgs/s")
		})
		b.Run(name+"/ReceiveAck", func(b *testing.B) {
			queue := kind.queue(b, s)
			r := receiverOf(b, d, queue)
			for range b.N {
				b.StopTimer()
				fill(b, queue)
				b.StartTimer()
				if err := r.Ack(b.Context(), receive(b, r, len(batch))); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// BenchmarkConsumer runs a handler that does nothing, to measure the consumer's own cost. "Fresh" is a new group; "Cut"
// one whose last member crashed, so that the first events of each partition are watched.
func BenchmarkConsumer(b *testing.B) {
	for _, cut := range []bool{false, true} {
		b.Run(map[bool]string{false: "Fresh", true: "Cut"}[cut], func(b *testing.B) { consume(b, cut) })
	}
}

func consume(b *testing.B, cut bool) {
	const partitions, each = 4, 50_000
	url := kafkatest.Shared(b)
	prefix := kafkatest.NewPrefix(b, url)
	topic := prefix + "orders"
	kafkatest.CreateTopic(b, url, topic, partitions)
	kafkatest.CreateTopic(b, url, prefix+"dead", 1)
	client := kafkatest.Client(b, url, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range each * partitions {
		r := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: fmt.Append(nil, i)}
		client.Produce(b.Context(), r, nil)
	}
	if err := client.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	seeds := []kgo.Opt{kgo.SeedBrokers(url[len("kafka://"):])}
	letters, err := kafka.OpenDeadLetters(kafka.DeadLetterOptions{Kafka: seeds, Topic: prefix + "dead", Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer letters.Close()
	for i := 0; b.Loop(); i++ {
		group := fmt.Sprintf("%sbilling-%d", prefix, i)
		if cut {
			leave(b, url, group, topic, partitions, "")
		}
		began := time.Now()
		var n atomic.Int64
		ctx, stop := context.WithCancel(b.Context())
		c, err := kafka.NewConsumer(kafka.ConsumerOptions{Kafka: seeds, Group: group, Topics: []string{topic},
			Letters: letters, Handler: func(context.Context, *kgo.Record) error {
				if n.Add(1) == each*partitions {
					stop()
				}
				return nil
			}})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Run(ctx); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n.Load())/time.Since(began).Seconds(), "events/s")
	}
}

// leave commits the beginning of a topic, with a text, like a member that crashed.
func leave(t testing.TB, url, group, topic string, partitions int, text string) {
	t.Helper()
	offsets := kadm.Offsets{}
	for n := range partitions {
		offsets.Add(kadm.Offset{Topic: topic, Partition: int32(n), LeaderEpoch: -1, Metadata: text})
	}
	answer, err := kafkatest.Admin(t, url).CommitOffsets(t.Context(), group, offsets)
	if err = errors.Join(err, answer.Error()); err != nil {
		t.Fatal(err)
	}
}

package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

// readLog reads a part of a log to its end, max messages at a time.
func readLog(t *testing.T, l driver.Driver, topic string, part driver.LogPart, max int) []driver.Entry {
	t.Helper()
	var all []driver.Entry
	for part.From < part.To {
		got, next, err := l.ReadLog(t.Context(), topic, part, max)
		if err != nil {
			t.Fatal(err)
		}
		if next <= part.From || len(got) > max {
			t.Fatalf("read %d messages at %d, and the next offset is %d", len(got), part.From, next)
		}
		all, part.From = append(all, got...), next
	}
	return all
}

// A range is read with the positions of a receiver, whatever the batches hold; the group does not move.
func TestLog(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 2, "max.message.bytes", "12000000")
	noon := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	large := bytes.Repeat([]byte("0123456789abcdef"), 600_000)
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression(), kgo.GzipCompression()} {
		client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec),
			kgo.ProducerBatchMaxBytes(11_000_000), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		var records []*kgo.Record
		for k := range 5 {
			records = append(records, &kgo.Record{Partition: 1, Value: fmt.Append(nil, i, " ", k),
				Timestamp: noon.Add(time.Duration(i) * time.Minute)})
		}
		produce(t, client, append(records, &kgo.Record{Partition: 0, Value: large, Timestamp: noon})...)
	}
	d := open(t, url)
	parts, err := d.LogParts(t.Context(), topic, time.Time{}, time.Time{})
	if want := "[{0 0 3} {1 0 15}]"; err != nil || fmt.Sprint(parts) != want {
		t.Fatalf("the parts are %v, want %s: %v", parts, want, err)
	}
	for _, e := range readLog(t, d, topic, parts[0], 10) {
		if !bytes.Equal(e.Payload, large) {
			t.Errorf("message %d has %d bytes", e.Offset, len(e.Payload))
		}
	}
	read := map[string]bool{}
	for i, e := range readLog(t, d, topic, parts[1], 4) {
		if e.Offset != int64(i) || string(e.Payload) != fmt.Sprint(i/5, " ", i%5) {
			t.Errorf("message %d is %q with offset %d", i, e.Payload, e.Offset)
		}
		read[e.Position] = true
	}
	parts, err = d.LogParts(t.Context(), topic, noon.Add(time.Minute), noon.Add(2*time.Minute))
	if want := "[{0 3 3} {1 5 10}]"; err != nil || fmt.Sprint(parts) != want {
		t.Errorf("the parts of a minute are %v, want %s: %v", parts, want, err)
	}
	depth(t, d, topic, 18)
	for _, m := range receive(t, receiver(t, d, topic), 18) {
		if len(m.Payload) < 10 && !read[m.Position] {
			t.Errorf("the position %s was another one in the log", m.Position)
		}
	}
	if _, err := d.LogParts(t.Context(), topic+"-missing", time.Time{}, time.Time{}); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("a missing topic is %v", err)
	}
	_, _, err = d.ReadLog(t.Context(), topic, driver.LogPart{Partition: 7, To: 1}, 1)
	if !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("a missing partition is %v", err)
	}
}

// Aborted transactions and their markers are skipped, even a range of them. A loss is reported once.
func TestLogGaps(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
	for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, client, kgo.StringRecord(fmt.Sprint(i)), kgo.StringRecord(fmt.Sprint(i, "b")))
		if err := client.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, url)
	var parts []driver.LogPart
	// Kafka writes the marker of a transaction after it has answered its end.
	await.Until(t, "the log has the last marker", func() bool {
		var err error
		parts, err = l.LogParts(t.Context(), topic, time.Time{}, time.Time{})
		return err == nil && len(parts) == 1 && parts[0].To == 12
	})
	for max, want := range map[int]string{1: "0 0b 2 2b", 3: "0 0b 2 2b"} {
		got := ""
		for _, e := range readLog(t, l, topic, parts[0], max) {
			got += " " + string(e.Payload)
		}
		if got != " "+want {
			t.Errorf("read%s, %d at a time, want %s", got, max, want)
		}
	}
	if got := readLog(t, l, topic, driver.LogPart{From: 9, To: 12}, 10); len(got) != 0 {
		t.Errorf("the last transaction, which was aborted, has %d messages", len(got))
	}
	admin := kadm.NewClient(client)
	var to kadm.Offsets
	to.AddOffset(topic, 0, 6, -1)
	if _, err := admin.DeleteRecords(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	_, next, err := l.ReadLog(t.Context(), topic, parts[0], 10)
	if driver.Lost(err) != 6 || next != 6 {
		t.Errorf("what the log has lost is %v, and the next offset %d", err, next)
	}
}

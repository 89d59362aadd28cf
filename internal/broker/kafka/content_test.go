package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

// A record survives the way back: null is not empty, headers keep order and repetitions, the event time stays.
func TestRecordsSurvive(t *testing.T) {
	url := kafkatest.Shared(t)
	topic, back := kafkatest.NewTopic(t, url, 1), kafkatest.NewTopic(t, url, 1, "retention.ms", "-1")
	at := time.UnixMilli(1_600_000_000_123)
	want := []*kgo.Record{
		{Key: []byte("tombstone"), Value: nil},
		{Key: []byte("empty"), Value: []byte{}},
		{Key: nil, Value: []byte("no key")},
		{Key: []byte{}, Value: []byte("empty key"), Timestamp: at},
		{Key: []byte("k"), Value: []byte{0, 0xff}, Timestamp: at, Headers: []kgo.RecordHeader{
			{Key: "b", Value: []byte("1")}, {Key: "a", Value: []byte{0, 0, 0, 7}}, {Key: "b", Value: []byte("2")},
			{Key: "null", Value: nil}, {Key: "empty", Value: []byte{}}, {Key: "kafka-mine", Value: []byte("x")},
			{Key: "both", Value: []byte{}}, {Key: "both", Value: nil}, {Key: "both", Value: []byte("x")},
			{Key: "both", Value: []byte{}}, {Key: "kafka-none", Value: nil}, {Key: "", Value: nil}}},
	}
	client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic))
	for _, r := range want {
		produce(t, client, r)
	}
	d := open(t, url)
	r := receiver(t, d, topic)
	got := receive(t, r, len(want))
	if h := headers(&got[4]); h["kafka-header-kafka-mine"] != "x" || h["kafka-timestamp"] != "1600000000123" ||
		!got[4].Time.Equal(at) {
		t.Errorf("it has the headers %q and the time %v", h, got[4].Time)
	}
	if p := got[4].Position; p[:len(topic)+5] != topic+"/0@4#" {
		t.Errorf("its position is %s", p)
	}
	send(t, d, back, got...)
	ack(t, r, got)
	reader := kafkatest.Client(t, url, kgo.ConsumeTopics(back))
	var sent []*kgo.Record
	for len(sent) < len(want) {
		sent = append(sent, reader.PollFetches(t.Context()).Records()...)
	}
	for i, w := range want {
		s := sent[i]
		if !bytes.Equal(s.Key, w.Key) || (s.Key == nil) != (w.Key == nil) || !bytes.Equal(s.Value, w.Value) ||
			(s.Value == nil) != (w.Value == nil) || !s.Timestamp.Equal(w.Timestamp) {
			t.Errorf("record %d came back as %q: %q at %v, want %q: %q at %v", i, s.Key, s.Value, s.Timestamp, w.Key, w.Value,
				w.Timestamp)
		}
		if fmt.Sprintf("%#v", s.Headers) != fmt.Sprintf("%#v", w.Headers) {
			t.Errorf("record %d has the headers %#v, want %#v", i, s.Headers, w.Headers)
		}
	}
}

// Letters of older versions list the headers without a value by name.
func TestNullHeadersOfOlderLetters(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	d := open(t, url)
	send(t, d, topic, driver.Message{Headers: append(header("a", ""), header("kafka-null-headers", `["a"]`)...)})
	got := receive(t, receiver(t, d, topic), 1)
	if h := headers(&got[0]); h["kafka-null-headers"] != `{"a":[0]}` {
		t.Errorf("it has the headers %q", h)
	}
}

// A letter older than its topic's retention arrives, and keeps its age when it dies again.
func TestOlderThanTheRetention(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1, "retention.ms", "3600000", "segment.ms", "100")
	d := open(t, url)
	old := time.Now().Add(-2 * time.Hour).UnixMilli()
	var want []driver.Message
	for i, age := range []int64{0, 1, 24 * 3_600_000} {
		want = append(want, driver.Message{Payload: fmt.Append(nil, i), Headers: append(header("tasker-letter", "1"),
			header("kafka-timestamp", strconv.FormatInt(old-age, 10))...)})
	}
	send(t, d, topic, want...)
	reader := kafkatest.Client(t, url, kgo.ConsumeTopics(topic))
	var sent []*kgo.Record
	for len(sent) < len(want) {
		sent = append(sent, reader.PollFetches(t.Context()).Records()...)
	}
	for i, r := range sent {
		if age := time.Since(r.Timestamp); age > time.Minute || len(r.Headers) != 2 ||
			r.Headers[1].Key != "kafka-original-timestamp" {
			t.Errorf("record %d is %v old, with %v", i, age, r.Headers)
		}
	}
	for i, m := range receive(t, receiver(t, d, topic), len(want)) {
		if a, b := headers(&m), headers(&want[i]); !maps.Equal(a, b) {
			t.Errorf("message %d has %q, and was sent with %q", i, a, b)
		}
	}
}

func TestEditedTombstone(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	d := open(t, url)
	send(t, d, topic, driver.Message{Headers: header("kafka-value", "null")},
		driver.Message{Headers: header("kafka-value", "null"), Payload: []byte("edited")})
	got := receive(t, receiver(t, d, topic), 2)
	if h := headers(&got[0]); h["kafka-value"] != "null" || len(got[0].Payload) != 0 {
		t.Errorf("the tombstone is %q with %q", got[0].Payload, h)
	}
	if h := headers(&got[1]); h["kafka-value"] != "" || string(got[1].Payload) != "edited" {
		t.Errorf("the edited one is %q with %q", got[1].Payload, h)
	}
}

// Records of every compression, one of 10 MB, are sent back.
func TestCompression(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1, "max.message.bytes", "12000000")
	large := make([]byte, 10_000_000)
	seed := rand.NewChaCha8([32]byte{})
	_, _ = seed.Read(large) // it cannot fail
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
		kgo.Lz4Compression(), kgo.ZstdCompression()} {
		client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec),
			kgo.ProducerBatchMaxBytes(11_000_000))
		produce(t, client, &kgo.Record{Value: bytes.Repeat([]byte("compressible "), 1000)})
		produce(t, client, &kgo.Record{Value: large})
	}
	d := open(t, url)
	r := receiver(t, d, topic)
	for i := range 10 {
		m := receive(t, r, 1)
		if n := len(m[0].Payload); n != 13000 && !bytes.Equal(m[0].Payload, large) {
			t.Errorf("message %d has %d bytes", i, n)
		}
		ack(t, r, m)
		if i == 9 {
			send(t, d, topic, m[0])
		}
	}
	if m := receive(t, r, 1); !bytes.Equal(m[0].Payload, large) {
		t.Errorf("it came back with %d bytes", len(m[0].Payload))
	}
}

// Messages of aborted transactions do not come, and the depth returns to 0 although ends of transactions have offsets.
func TestTransactions(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
	for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, client, kgo.StringRecord(strconv.Itoa(i)))
		if err := client.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, url)
	r := receiver(t, d, topic)
	got := receive(t, r, 2)
	if payloads(got) != "0 2" {
		t.Errorf("received %s", payloads(got))
	}
	ack(t, r, got)
	depth(t, d, topic, 0)
	if peeked, err := d.Peek(t.Context(), topic, 10); err != nil || len(peeked) != 0 {
		t.Errorf("%d messages wait: %v", len(peeked), err)
	}
}

// Keys map to partitions as in Java's client, and a destination can name a partition.
func TestPartitions(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 12)
	d := open(t, url)
	// Utils.toPositive(Utils.murmur2(key)) % 12, from the tests of Java's client
	byKey := map[string]string{"21": "/0@", "foobar": "/6@", "a-little-bit-long-string": "/8@", "abc": "/3@"}
	for key := range byKey {
		send(t, d, topic, driver.Message{Key: []byte(key), Payload: []byte(key)})
	}
	send(t, d, topic+"#7", driver.Message{Key: []byte("21"), Payload: []byte("7")})
	spring := []deadletter.Header{{Name: "kafka_dlt-original-partition", Value: []byte{0, 0, 0, 9}}}
	connect := header("__connect.errors.partition", "10")
	send(t, d, topic+"#original", driver.Message{Payload: []byte("9"), Headers: spring},
		driver.Message{Payload: []byte("10"), Headers: connect})
	r := receiver(t, d, topic)
	maps.Copy(byKey, map[string]string{"7": "/7@", "9": "/9@", "10": "/10@"})
	for _, m := range receive(t, r, len(byKey)) {
		if want := byKey[string(m.Payload)]; !strings.Contains(m.Position, want) {
			t.Errorf("%s is at %s", m.Payload, m.Position)
		}
	}
	for target, want := range map[string]error{topic + "#12": driver.ErrNotFound, topic + "#x": driver.ErrRefused,
		topic + "#original": driver.ErrRefused} {
		if errs := d.Send(t.Context(), target, numbered(1), driver.Limits{}); !errors.Is(errs[0], want) {
			t.Errorf("%s: %v, want %v", target, errs[0], want)
		}
	}
	if exists, _, err := d.Stat(t.Context(), topic+"#12"); exists || err != nil {
		t.Errorf("the partition 12 exists: %v", err)
	}
}

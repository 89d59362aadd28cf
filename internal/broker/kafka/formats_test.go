package kafka_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

func recordHeaders(pairs ...string) (all []kgo.RecordHeader) {
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return all
}

// number writes n like Java's ByteBuffer.
func number(bytes int, n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n)[8-bytes:])
}

func TestFormats(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	client := kafkatest.Client(t, url, kgo.DefaultProduceTopic(topic))
	for _, c := range []struct {
		format, origin, kind string
		record               *kgo.Record
	}{
		{"kafka_dlt", "orders", "java.lang.IllegalStateException", &kgo.Record{Value: []byte("{}"), Headers: recordHeaders(
			"kafka_dlt-original-topic", "orders", "kafka_dlt-original-partition", number(4, 3),
			"kafka_dlt-original-offset", number(8, 1<<33), "kafka_dlt-original-timestamp", number(8, 1_600_000_000_000),
			"kafka_dlt-original-timestamp-type", "CreateTime", "kafka_dlt-original-consumer-group", "billing",
			"kafka_dlt-exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException",
			"kafka_dlt-exception-cause-fqcn", "java.lang.IllegalStateException", "kafka_dlt-exception-message", "no stock")}},
		{"kafka_connect", "orders", "org.apache.kafka.connect.errors.DataException", &kgo.Record{Value: []byte{0, 1},
			Headers: recordHeaders("__connect.errors.topic", "orders", "__connect.errors.partition", "2",
				"__connect.errors.offset", "17", "__connect.errors.connector.name", "sink", "__connect.errors.task.id", "0",
				"__connect.errors.stage", "VALUE_CONVERTER",
				"__connect.errors.class.name", "org.apache.kafka.connect.json.JsonConverter",
				"__connect.errors.exception.class.name", "org.apache.kafka.connect.errors.DataException",
				"__connect.errors.exception.message", "bad", "__connect.errors.exception.stacktrace", "at x")}},
		{"dlq_envelope", "pod-events", "TimeoutError", &kgo.Record{Key: []byte("evt-1"), Value: []byte(`{"event_id": "evt-1",
			"event": {"event_id": "evt-1", "event_type": "pod_created"}, "original_topic": "pod-events",
			"error": "timed out", "retry_count": 3, "failed_at": "2026-01-15T10:30:00+00:00", "producer_id": "p1",
			"status": "pending"}`), Headers: recordHeaders("original_topic", "pod-events", "error_type", "TimeoutError",
			"retry_count", "3")}},
		{"watermill", "orders", "", &kgo.Record{Value: []byte("x"), Headers: recordHeaders("reason_poisoned", "cannot parse",
			"topic_poisoned", "orders", "handler_poisoned", "h", "subscriber_poisoned", "s", "_watermill_message_uuid", "u1")}},
	} {
		produce(t, client, c.record)
		r := receiver(t, open(t, url), topic)
		m := receive(t, r, 1)
		d := format.Decode(m[0], "")
		if d.Format != c.format || d.Origin != c.origin || d.Failure.Type != c.kind || d.Undecoded != "" {
			t.Errorf("%s: it is %s of %q with the failure %+v; %s", c.format, d.Format, d.Origin, d.Failure, d.Undecoded)
		}
		ack(t, r, m)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A dead letter by Spring returns to its partition with its event time, without Spring's additions.
func TestSpringAndBack(t *testing.T) {
	url := kafkatest.Shared(t)
	dead, work := kafkatest.NewTopic(t, url, 1), kafkatest.NewTopic(t, url, 4, "retention.ms", "-1")
	at := time.UnixMilli(1_600_000_000_000)
	produce(t, kafkatest.Client(t, url, kgo.DefaultProduceTopic(dead)), &kgo.Record{Key: []byte("k"), Value: []byte("v"),
		Headers: recordHeaders("mine", "1", "kafka_dlt-original-topic", work, "kafka_dlt-original-partition", number(4, 3),
			"kafka_dlt-original-offset", number(8, 5), "kafka_dlt-original-timestamp", number(8, uint64(at.UnixMilli())),
			"kafka_dlt-original-timestamp-type", "CreateTime", "kafka_dlt-exception-fqcn", "E")})
	d := open(t, url)
	content := format.Decode(receive(t, receiver(t, d, dead), 1)[0], "").Content
	send(t, d, work+"#original", driver.Message{Key: content.Key, Payload: content.Payload, Headers: content.Headers})
	reader := kafkatest.Client(t, url, kgo.ConsumeTopics(work))
	var sent []*kgo.Record
	for len(sent) == 0 {
		sent = reader.PollFetches(t.Context()).Records()
	}
	s := sent[0]
	if s.Partition != 3 || !s.Timestamp.Equal(at) || len(s.Headers) != 1 || s.Headers[0].Key != "mine" {
		t.Errorf("it came to the partition %d at %v with %v", s.Partition, s.Timestamp, s.Headers)
	}
}

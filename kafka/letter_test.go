package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	broker "github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// asMessage is a letter as a source of Tasker receives it.
func asMessage(r *kgo.Record) driver.Message {
	m := driver.Message{Key: r.Key, Payload: r.Value, Time: r.Timestamp, Origin: r.Topic}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, deadletter.Header{Name: h.Key, Value: h.Value})
	}
	return m
}

// TestFormat reads dead events of all kinds as Tasker does: nothing of an event is lost.
func TestFormat(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := r.letters(kafka.DeadLetterOptions{ProducerID: "billing-1", Now: func() time.Time { return at }})
	sent := at.Add(-time.Hour)
	headers := []kgo.RecordHeader{{Key: "trace", Value: []byte("1")}, {Key: "trace", Value: []byte{0xff}},
		{Key: "empty"}, {Key: "tasker-letter", Value: []byte("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")},
		{Key: "retry_count", Value: []byte("9")}}
	events := map[string]struct {
		event kgo.Record
		id    string
	}{
		"Object":     {kgo.Record{Key: []byte("k"), Value: []byte(`{"event_id":"e-1", "n": 12345678901234567890 }`)}, "e-1"},
		"Number":     {kgo.Record{Value: []byte(`1.0`)}, "orders:3@17"},
		"IDIsNumber": {kgo.Record{Key: []byte{}, Value: []byte(`{"event_id":42}`)}, "42"},
		"IDIsLarge":  {kgo.Record{Value: []byte(`{"event_id":9007199254740993}`)}, "9007199254740993"},
		"IDIsHuge":   {kgo.Record{Value: []byte(`{"event_id": -1.50e400 , "EVENT_ID":1}`)}, "-1.50e400"},
		"IDIsEmpty":  {kgo.Record{Value: []byte(`{"event_id":""}`)}, "orders:3@17"},
		"KeyIsBytes": {kgo.Record{Key: []byte{0xff, 0}, Value: []byte(`{}`)}, "orders:3@17"},
		"Bytes":      {kgo.Record{Key: []byte{0xff, 0}, Value: []byte{0, 1, 0xff}}, "orders:3@17"},
		"Text":       {kgo.Record{Value: []byte("a b")}, "orders:3@17"},
		"NullText":   {kgo.Record{Value: []byte("null")}, "orders:3@17"},
		"WhiteSpace": {kgo.Record{Value: []byte(" {} \n")}, "orders:3@17"},
		"Tombstone":  {kgo.Record{Key: []byte("k"), Value: nil}, "orders:3@17"},
		"Empty":      {kgo.Record{Key: []byte("k"), Value: []byte{}}, "orders:3@17"},
		"IDInHeader": {kgo.Record{Value: []byte("x"),
			Headers: []kgo.RecordHeader{{Key: "event_id", Value: []byte("h-1")}}}, "h-1"},
		"LooksLikeHoles": {kgo.Record{Value: []byte(`{"event_id":"\"event\":null"}`)}, `"event":null`},
	}
	var names []string
	for name, e := range events {
		names = append(names, name)
		event := e.event
		event.Topic, event.Partition, event.Offset, event.Timestamp = r.topic, 3, 17, sent
		event.Headers = append(event.Headers, headers...)
		err := d.SendToDLQ(context.Background(), &event, "orders", fmt.Errorf("store: %w", errors.New("is down")), 2)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, letter := range r.dlq(len(events)) {
		t.Run(names[i], func(t *testing.T) {
			want := events[names[i]]
			got := format.Decode(asMessage(letter), "")
			if got.Format != "dlq_envelope" || got.Undecoded != "" {
				t.Fatalf("%s: %s", got.Format, got.Undecoded)
			}
			type facts struct {
				Origin, Handler, Type, Message, ID string
				Attempts                           int
				Letter                             string
			}
			if diff := cmp.Diff(facts{"orders", "billing-1", "error", "store: is down", want.id, 3,
				"0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70"},
				facts{got.Origin, got.Handler, got.Failure.Type, got.Failure.Message, got.MessageID, got.Attempts,
					got.Letter.String()}); diff != "" {
				t.Error(diff)
			}
			if got.LastAt.Time().UTC() != at {
				t.Errorf("failed at %v", got.LastAt.Time())
			}
			if diff := cmp.Diff(want.event.Value, got.Content.Payload); diff != "" {
				t.Error("payload", diff)
			}
			if diff := cmp.Diff(want.event.Key, got.Content.Key); diff != "" {
				t.Error("key", diff)
			}
			if names := headerNames(got.Content.Headers); !strings.HasPrefix(strings.TrimPrefix(names, "event_id=h-1 "),
				"trace=1 trace=\xff empty=") {
				t.Errorf("headers %q", names)
			}
		})
	}
}

func headerNames(headers []deadletter.Header) string {
	var b strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&b, "%s=%s ", h.Name, h.Value)
	}
	return b.String()
}

// TestThereAndBack sends an event through the dead letters and back: it is the same record in the same partition.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 4)
	d := r.letters(kafka.DeadLetterOptions{})
	client := kafkatest.Client(t, r.url, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	reader := kafkatest.Client(t, r.url, kgo.ConsumeTopics(r.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	next := func() *kgo.Record {
		for {
			if all := reader.PollFetches(t.Context()).Records(); len(all) > 0 || t.Context().Err() != nil {
				return all[0]
			}
		}
	}
	link, err := broker.Open(t.Context(), r.url+"/?group="+r.group+"-tasker")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	source, err := link.Open(t.Context(), r.dead)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range [][]byte{[]byte(`{"event_id":"e1"}`), {0xff, 0}, nil, {}} {
		original := &kgo.Record{Topic: r.topic, Partition: 3, Key: []byte("k"), Value: value,
			Timestamp: time.Now().Add(-time.Hour).Truncate(time.Millisecond),
			Headers:   []kgo.RecordHeader{{Key: "a", Value: []byte("1")}}}
		if err := client.ProduceSync(t.Context(), original).FirstErr(); err != nil {
			t.Fatal(err)
		}
		event := next()
		if err := d.SendToDLQ(t.Context(), event, "", errors.New("no"), 2); err != nil {
			t.Fatal(err)
		}
		batch, err := source.Receive(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		content := format.Decode(batch[0], "").Content
		back := driver.Message{Key: content.Key, Headers: content.Headers, Payload: content.Payload}
		errs := link.Send(t.Context(), r.topic+"#original", []driver.Message{back}, driver.Limits{})
		if errs != nil && errs[0] != nil {
			t.Fatal(errs[0])
		}
		type facts struct {
			Partition  int32
			At         int64
			Key, Value []byte
			Headers    []kgo.RecordHeader
		}
		of := func(r *kgo.Record) facts {
			headers := slices.DeleteFunc(slices.Clone(r.Headers), func(h kgo.RecordHeader) bool { return h.Key == "event_id" })
			return facts{r.Partition, r.Timestamp.UnixMilli(), r.Key, r.Value, headers}
		}
		if diff := cmp.Diff(of(event), of(next())); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	}
}

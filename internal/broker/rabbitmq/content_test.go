package rabbitmq_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

// everything is a message with all properties of AMQP.
func everything() amqp091.Publishing {
	at := time.Unix(1_700_000_000, 0)
	return amqp091.Publishing{
		ContentType: "application/json", ContentEncoding: "gzip", DeliveryMode: amqp091.Persistent, Priority: 7,
		CorrelationId: "cor", ReplyTo: "answers", MessageId: "one", Timestamp: at, Type: "order.created", AppId: "shop",
		Body: []byte{0, 1, 255},
		Headers: amqp091.Table{
			"string": "s", "binary string": "\xff\x00", "empty": "", "bytes": []byte{0, 0xff}, "true": true, "nil": nil,
			"int8": int8(-8), "uint8": uint8(200), "int16": int16(-1600), "uint16": uint16(65000), "int32": int32(-5),
			"uint32": uint32(4_000_000_000), "int64": int64(math.MinInt64), "float32": float32(1.1), "float64": 1e300,
			"decimal": amqp091.Decimal{Scale: 2, Value: -1234}, "time": at,
			"amqp-mine": "escaped", "amqp-header-mine": "too",
			"list": []any{"a", int32(1), nil, []any{false, []byte("x")}, "\xfe"},
			"table": amqp091.Table{"a": int64(1) << 60, "b": "text <&>", "c": amqp091.Table{"d": at, "e": "\xff"},
				"f": amqp091.Decimal{Scale: 1, Value: 5}, "g": float32(2.5)},
		},
	}
}

// A message survives the way through the driver unchanged.
func TestEverythingSurvives(t *testing.T) {
	url := rabbittest.Shared(t)
	declare(t, url, "in", map[string]any{"x-max-priority": 10})
	declare(t, url, "out", map[string]any{})
	ch, d := application(t, url), open(t, url)
	want := everything()
	publish(t, ch, "", "in", want)
	publish(t, ch, "", "in", amqp091.Publishing{DeliveryMode: amqp091.Transient, Expiration: "600000"})
	publish(t, ch, "", "in", amqp091.Publishing{Timestamp: time.Unix(0, 0)})
	r := receiver(t, d, "in")
	got := receive(t, r, 3)
	ack(t, r, got)
	send(t, d, "out", got...)

	back := get(t, ch, "out")
	back.Headers["time"] = back.Headers["time"].(time.Time).Local()
	same := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(want.Headers, back.Headers, same); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	props := amqp091.Publishing{ContentType: back.ContentType, ContentEncoding: back.ContentEncoding,
		DeliveryMode: back.DeliveryMode, Priority: back.Priority, CorrelationId: back.CorrelationId, ReplyTo: back.ReplyTo,
		MessageId: back.MessageId, Timestamp: back.Timestamp, Type: back.Type, AppId: back.AppId, Body: back.Body}
	want.Headers = nil
	if diff := cmp.Diff(want, props, same); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if second := get(t, ch, "out"); second.DeliveryMode != amqp091.Transient || second.Expiration != "600000" {
		t.Errorf("the second message has the delivery mode %d and the expiration %q", second.DeliveryMode,
			second.Expiration)
	}
	if third := get(t, ch, "out"); third.DeliveryMode != 0 || third.Timestamp.Unix() != 0 {
		t.Errorf("the third message has the delivery mode %d, want none, and the time %v", third.DeliveryMode,
			third.Timestamp)
	}
}

func TestEditedHeaders(t *testing.T) {
	url := rabbittest.Shared(t)
	declare(t, url, "q", map[string]any{})
	ch, d := application(t, url), open(t, url)
	text := func(pairs ...string) (out []deadletter.Header) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, deadletter.Header{Name: pairs[i], Value: []byte(pairs[i+1])})
		}
		return out
	}
	send(t, d, "q", driver.Message{Headers: text("n", "many", "list", `["a",2,true,0.5,"new"]`, "k", "8", "inf", "+Inf", "twice", "1",
		"twice", "2", "amqp-unknown", "x", "amqp-priority", "3",
		"amqp-types", `{"n":"I","list":["S","I"],"k":"l","gone":"t","inf":"d"}`)})
	got := get(t, ch, "q")
	want := amqp091.Table{"n": "many", "list": []any{"a", int32(2), true, 0.5, "new"}, "k": int64(8),
		"inf": "+Inf", "twice": []any{"1", "2"}, "amqp-unknown": "x"}
	if diff := cmp.Diff(want, got.Headers); diff != "" || got.Priority != 3 {
		t.Errorf("priority %d, headers (-want +got):\n%s", got.Priority, diff)
	}
	long := strings.Repeat("x", 256)
	for name, m := range map[string]driver.Message{
		"priority":      {Headers: text("amqp-priority", "256")},
		"delivery mode": {Headers: text("amqp-delivery-mode", "3")},
		"expiration":    {Headers: text("amqp-expiration", "soon")},
		"timestamp":     {Headers: text("amqp-timestamp", "now")},
		"type":          {Headers: text("amqp-type", long)},
		"header name":   {Headers: text(long, "")},
		"message ID":    {MessageID: long},
	} {
		errs := d.Send(t.Context(), "q", []driver.Message{m, {Payload: []byte("next")}}, driver.Limits{})
		if !errors.Is(errs[0], driver.ErrRefused) || errs[1] != nil {
			t.Errorf("a bad %s: %v", name, errs)
		}
	}
	large := driver.Message{Headers: text("large", strings.Repeat("x", 200<<10))}
	errs := d.Send(t.Context(), "q", []driver.Message{large}, driver.Limits{})
	if !errors.Is(errs[0], driver.ErrTooLarge) {
		t.Errorf("headers that do not fit into a frame: %v", errs)
	}
}

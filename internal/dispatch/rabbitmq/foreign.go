package rabbitmq

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// letterOf returns a message of the queue of dead letters as the inbox stores it: its properties and headers as text.
func letterOf(m *amqp.Delivery, queue string) driver.Message {
	out := driver.Message{Payload: m.Body, Time: m.Timestamp, Origin: queue, MessageID: m.MessageId,
		Redelivered: m.Redelivered}
	add := func(name, value string) {
		if value != "" {
			out.Headers = append(out.Headers, deadletter.Header{Name: name, Value: []byte(value)})
		}
	}
	add("amqp-content-type", m.ContentType)
	add("amqp-content-encoding", m.ContentEncoding)
	add("amqp-correlation-id", m.CorrelationId)
	add("amqp-reply-to", m.ReplyTo)
	add("amqp-type", m.Type)
	add("amqp-app-id", m.AppId)
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		add(name, textOf(m.Headers[name]))
	}
	return out
}

// textOf returns a header's value as text: tables and arrays as JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case amqp.Table, []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

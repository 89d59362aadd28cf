package rabbitmq

import (
	"fmt"
	"slices"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// letterOf returns a message of the queue of dead letters as the inbox stores it.
func letterOf(m *amqp.Delivery, queue string) driver.Message {
	out := driver.Message{Payload: m.Body, Time: m.Timestamp, Origin: queue, MessageID: m.MessageId,
		Redelivered: m.Redelivered}
	add := func(name, value string) {
		if value != "" {
			out.Headers = append(out.Headers, deadletter.Header{Name: name, Value: []byte(value)})
		}
	}
	add("content-type", m.ContentType)
	add("content-encoding", m.ContentEncoding)
	add("type", m.Type)
	add("correlation-id", m.CorrelationId)
	add("reply-to", m.ReplyTo)
	add("app-id", m.AppId)
	names := make([]string, 0, len(m.Headers))
	for name := range m.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, textOf(m.Headers[name]))
	}
	return out
}

// textOf returns a header's value as text: tables and lists in the form of a literal.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case amqp.Table:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			names[i] = name + "=" + textOf(v[name])
		}
		return "{" + strings.Join(names, " ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = textOf(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// envelope is an event in a dead letter topic: in a JSON object beside its failure, or below headers with it.
var envelope = convention{
	name: "dlq_envelope",
	follows: func(m *message) bool {
		return m.members("event", "original_topic", "error") ||
			m.has("original_topic") && m.has("retry_count", "error", "error_type")
	},
	decode: decodeEnvelope,
}

// decodeEnvelope prefers the identifier of the event: each envelope has its own.
func decodeEnvelope(m *message, d *Decoded) error {
	o := map[string]json.RawMessage{}
	if m.members("event", "original_topic", "error") {
		o, _ = m.fields()
		// Without an event there is nothing to send back.
		if event := bytes.TrimSpace(o["event"]); len(event) == 0 || string(event) == "null" {
			return errors.New("its event is null")
		}
		d.Content.Payload = o["event"]
		d.MessageID = cmp.Or(eventID(o), d.MessageID)
		if err := d.eventKey(o); err != nil {
			return err
		}
	} else {
		d.MessageID = cmp.Or(d.MessageID, string(m.last("event_id")))
	}
	// A field of the envelope precedes a header.
	field := func(name string) string {
		if s := jsonText(o[name]); s != "" {
			return s
		}
		return string(m.last(name))
	}
	d.Origin = field("original_topic")
	d.Handler = field("producer_id")
	d.Failure.Type = field("error_type")
	d.Failure.Message = field("error")
	if n := field("retry_count"); n != "" {
		d.Attempts = count(n) + 1 // the first attempt is no retry
	}
	d.LastAt = instant(field("failed_at"))
	d.Stack = field("stack_trace")
	d.OriginPosition = position(field("original_partition"), field("original_offset"))
	for _, name := range []string{"status", "dlq_retry_count", "dlq_original_error", "dlq_retry_timestamp"} {
		d.detail(name, field(name))
	}
	d.Content.Headers = without(d.Content.Headers, among("original_topic", "original_partition", "original_offset",
		"original_timestamp", "error_type", "retry_count", "error",
		"failed_at", "producer_id", "status", "dlq_retry_count", "dlq_original_error", "dlq_retry_timestamp"))
	return nil
}

// eventKey takes the event's key from the envelope, which has its own. Envelopes of other programs lack it; there the
// key of the message stays.
func (d *Decoded) eventKey(o map[string]json.RawMessage) error {
	switch key, bytes := o["event_key"], o["event_key_base64"]; {
	case bytes != nil:
		return decodeText(&d.Content.Key, bytes, "event_key", json.RawMessage(`"base64"`))
	case key != nil:
		d.Content.Key = []byte(jsonText(key))
	case string(o["event_has_key"]) == "false":
		d.Content.Key = nil
	}
	return nil
}

func eventID(o map[string]json.RawMessage) string {
	var event map[string]json.RawMessage
	_ = json.Unmarshal(o["event"], &event)
	return cmp.Or(jsonID(event["event_id"]), jsonID(o["event_id"]))
}

func jsonID(raw json.RawMessage) string {
	if len(raw) > 0 && strings.IndexByte("-0123456789", raw[0]) >= 0 {
		return string(raw)
	}
	return jsonName(raw)
}

func jsonInstant(raw json.RawMessage) task.Instant { return instant(jsonText(raw)) }

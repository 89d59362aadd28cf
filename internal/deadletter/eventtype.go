package deadletter

import (
	"bytes"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/failure"
)

// maxEventType bounds the type of an event, in bytes.
const maxEventType = 255

// EventType returns the type of the event that content carries: its header event_type or ce_type, else the member
// event_type of a JSON payload; "" for none. It is cut to 255 bytes.
func EventType(c Content) string {
	for _, h := range c.Headers {
		if (h.Name == "event_type" || h.Name == "ce_type") && len(h.Value) > 0 {
			return failure.Cut(string(h.Value), maxEventType)
		}
	}
	if !bytes.Contains(c.Payload, []byte(`"event_type"`)) {
		return ""
	}
	var event struct {
		Type string `json:"event_type"`
	}
	_ = json.Unmarshal(c.Payload, &event) // what is no such object has no type
	return failure.Cut(event.Type, maxEventType)
}

package intake

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The encodings of a payload in an envelope.
const (
	asJSON   = "json"
	asText   = "text"
	asBase64 = "base64"
)

const (
	beginning = `{"payload":` // of an envelope, before the payload
	space     = " \t\r\n"     // in JSON
)

type wrapped struct {
	Encoding  string             `json:"encoding"`
	Queue     string             `json:"queue"`
	Position  string             `json:"position,omitempty"`
	MessageID string             `json:"message_id,omitempty"`
	Key       *field             `json:"key,omitempty"`
	SentAt    *time.Time         `json:"sent_at,omitempty"`
	Headers   map[string][]field `json:"headers,omitempty"`
}

// field is a key or a header value: a string, or {"base64": "..."} if it is not UTF-8.
type field []byte

func (f field) MarshalJSON() ([]byte, error) {
	if utf8.Valid(f) {
		return json.Marshal(string(f))
	}
	return json.Marshal(map[string]string{asBase64: base64.StdEncoding.EncodeToString(f)})
}

// envelope returns a JSON object around a message. A JSON payload is embedded, text is a string, anything else is
// in base64; encoding says which.
func envelope(m *Message) []byte {
	w := wrapped{Queue: text(m.Queue), Position: position(m), MessageID: m.MessageID, SentAt: m.SentAt.Ptr()}
	var payload json.RawMessage
	payload, w.Encoding = encode(m.Payload)
	if m.Key != nil {
		key := field(m.Key)
		w.Key = &key
	}
	for _, h := range m.Headers {
		if w.Headers == nil {
			w.Headers = map[string][]field{}
		}
		w.Headers[h.Name] = append(w.Headers[h.Name], h.Value)
	}
	rest, _ := json.Marshal(w) // texts always marshal
	// json.Marshal would change white space and escapes of the payload.
	b := append(make([]byte, 0, len(payload)+len(rest)+16), beginning...)
	return append(append(append(b, payload...), ','), rest[1:]...)
}

func encode(payload []byte) (json.RawMessage, string) {
	switch {
	case len(payload) > 0 && task.JSONFault(payload, len(payload)) == "":
		return payload, asJSON
	case utf8.Valid(payload):
		return quote(string(payload)), asText
	}
	return quote(base64.StdEncoding.EncodeToString(payload)), asBase64
}

func quote(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}

// Payload returns the payload of a task's message from its current context.
func Payload(of *task.Intake, context []byte) ([]byte, error) {
	if !of.Wrapped {
		return context, nil
	}
	var w struct {
		Payload  json.RawMessage `json:"payload"`
		Encoding string          `json:"encoding"`
	}
	if err := json.Unmarshal(context, &w); err != nil {
		return nil, fmt.Errorf("read the message in a context: %w", err)
	}
	if w.Encoding == asJSON {
		return spaced(context, w.Payload), nil
	}
	var s string
	if err := json.Unmarshal(w.Payload, &s); err != nil {
		return nil, fmt.Errorf("read the payload in a context: %w", err)
	}
	if w.Encoding == asBase64 {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("read the payload in a context: %w", err)
		}
		return b, nil
	}
	return []byte(s), nil
}

// spaced restores the white space around the payload at the beginning of an envelope, which a decoder drops. An
// edited context may begin differently; then it returns value alone.
func spaced(context, value []byte) []byte {
	rest, found := bytes.CutPrefix(context, []byte(beginning))
	if !found {
		return value
	}
	at := len(rest) - len(bytes.TrimLeft(rest, space))
	end := at + len(value)
	if !bytes.HasPrefix(rest[at:], value) {
		return value // a second member of this name
	}
	return rest[:end+len(rest[end:])-len(bytes.TrimLeft(rest[end:], space))]
}

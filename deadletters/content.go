package deadletters

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Content is what a message consists of. Key, payload and values of headers are bytes; JSON shows them as text where
// they are text, and otherwise in base64. Only one of the two forms is set.
type Content struct {
	Key           string          `json:"key,omitempty" doc:"Key of the message, if it is text."`
	KeyBase64     []byte          `json:"key_base64,omitempty" doc:"Key of the message, if it is not text."`
	Headers       []Header        `json:"headers,omitempty" doc:"In order; a name may repeat." maxItems:"256"`
	Payload       json.RawMessage `json:"payload,omitempty" doc:"Payload, if it is JSON in UTF-8. White space may differ from that of the message."`
	PayloadBase64 []byte          `json:"payload_base64,omitempty" doc:"Payload, if it is not JSON."`
}

// Header is one header of a message.
type Header struct {
	Name        string `json:"name" minLength:"1" maxLength:"255"`
	Value       string `json:"value,omitempty" doc:"Value, if it is text."`
	ValueBase64 []byte `json:"value_base64,omitempty" doc:"Value, if it is not text."`
}

// maxDepth is the deepest payload that is shown as JSON: parsers in other languages stop at about a thousand levels,
// and an answer with one payload beyond that could not be read at all.
const maxDepth = 500

// SetPayload sets the payload.
func (c *Content) SetPayload(payload []byte) {
	c.Payload, c.PayloadBase64 = nil, nil
	switch {
	case len(payload) == 0:
	case showsAsJSON(payload):
		c.Payload = payload
	default:
		c.PayloadBase64 = payload
	}
}

// PayloadBytes returns the payload.
func (c *Content) PayloadBytes() []byte {
	if len(c.Payload) > 0 {
		return c.Payload
	}
	return c.PayloadBase64
}

// SetKey sets the key.
func (c *Content) SetKey(key []byte) { c.Key, c.KeyBase64 = split(key) }

// KeyBytes returns the key, nil for none.
func (c *Content) KeyBytes() []byte { return joined(c.Key, c.KeyBase64) }

// NewHeader returns a header.
func NewHeader(name string, value []byte) Header {
	h := Header{Name: name}
	h.Value, h.ValueBase64 = split(value)
	return h
}

// Bytes returns the value.
func (h *Header) Bytes() []byte { return joined(h.Value, h.ValueBase64) }

// split returns bytes as text where they are text.
func split(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

func joined(text string, binary []byte) []byte {
	if text != "" {
		return []byte(text)
	}
	return binary
}

// showsAsJSON reports whether a payload can stand in a JSON document as it is. null cannot: in this API it means that
// the value is missing.
func showsAsJSON(payload []byte) bool {
	if !utf8.Valid(payload) || !json.Valid(payload) || string(bytes.TrimSpace(payload)) == "null" {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(payload); i++ {
		switch c := payload[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return false
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return true
}

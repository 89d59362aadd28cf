package deadletter

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// identityBytes is the length of a hash in an identity, in bytes.
const identityBytes = 16

// Identify returns what makes a second delivery recognisable within a source, 33 ASCII characters: p and the hash of
// the position where the broker has one, else m and that of the sender's identifier, else c and that of the content.
func Identify(position, messageID string, c Content) string {
	switch {
	case position != "":
		return "p" + digest([]byte(position))
	case messageID != "":
		return "m" + digest([]byte(messageID))
	}
	parts := make([][]byte, 0, 2+2*len(c.Headers))
	parts = append(parts, c.Key, c.Payload)
	for _, h := range c.Headers {
		parts = append(parts, []byte(h.Name), h.Value)
	}
	return "c" + digest(parts...)
}

// Canonical returns a hash of the payload, 33 ASCII characters. JSON documents with the same values have the same,
// however they are written; numbers are compared exactly. Any other payload is hashed byte for byte.
func Canonical(c Content) string {
	if len(c.Payload) > 0 && task.JSONFault(c.Payload, len(c.Payload)) == "" {
		return "j" + digest(canonicalJSON(c.Payload))
	}
	return "b" + digest(c.Payload)
}

// digest hashes parts with their lengths, so that parts cannot be confused; nil differs from empty.
func digest(parts ...[]byte) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		n := uint64(len(p))
		if p != nil {
			n++
		}
		h.Write(binary.BigEndian.AppendUint64(length[:0], n))
		h.Write(p)
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])[:identityBytes])
}

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

package task

import (
	"bytes"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// MergePatch applies a JSON merge patch (RFC 7396). A nil document is null. A client-encoded value is replaced whole.
// Unnamed values keep their bytes; both arguments must be valid JSON.
func MergePatch(document, patch []byte) ([]byte, error) {
	changes, ok := objectOf(patch)
	if !ok || envelope.Is(patch) { // an encoded value has no members
		return bytes.TrimSpace(patch), nil
	}
	if envelope.Is(document) {
		return nil, &Error{Code: Conflict, Message: "the patch changes a part of a value that is encoded by the client",
			Hint: "give the whole value, encoded, or the whole context"}
	}
	merged, ok := objectOf(document)
	if !ok {
		merged = map[string]json.RawMessage{}
	}
	for name, change := range changes {
		if string(bytes.TrimSpace(change)) == "null" {
			delete(merged, name)
			continue
		}
		value, err := MergePatch(merged[name], change)
		if err != nil {
			return nil, err
		}
		merged[name] = value
	}
	return encodeObject(merged)
}

func objectOf(document []byte) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, false
	}
	return members, members != nil
}

// encodeObject does not escape HTML characters: values keep their bytes.
func encodeObject(members map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		return nil, Errorf(Invalid, "the patch cannot be applied: %v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

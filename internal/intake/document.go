package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/pointer"
	"github.com/taskerhq/tasker/internal/task"
)

// document looks up values in a payload. The members of its object are found once, whatever the number of values.
type document struct {
	parsed bool
	object map[string]json.RawMessage // nil: it is no object
	err    error                      // why it is not JSON
}

// text returns the scalar at a JSON pointer: of a string its text, of a number or a boolean what is written there; ""
// where there is nothing or null. Of members with one name the last counts. The error is a *Refusal.
func (d *document) text(payload []byte, at string) (string, error) {
	if !d.parsed {
		d.parse(payload)
	}
	if d.err != nil {
		return "", d.err
	}
	parts := strings.Split(at[1:], "/")
	value := json.RawMessage(payload)
	if d.object != nil {
		value = d.object[pointer.Unescape(parts[0])]
		parts = parts[1:]
	}
	for _, part := range parts {
		value = member(value, pointer.Unescape(part))
	}
	return scalar(value, at)
}

func (d *document) parse(payload []byte) {
	d.parsed = true
	if task.JSONFault(payload, len(payload)) != "" || len(payload) == 0 {
		d.err = &Refusal{NotJSON, "the payload of the message is not JSON, and values are looked up in it"}
		return
	}
	if begins(payload, '{') {
		_ = json.Unmarshal(payload, &d.object) // it is valid
	}
}

func member(value json.RawMessage, name string) json.RawMessage {
	switch {
	case begins(value, '{'):
		var object map[string]json.RawMessage
		_ = json.Unmarshal(value, &object) // it is part of a valid document
		return object[name]
	case begins(value, '['):
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) && strconv.Itoa(i) == name {
			return list[i]
		}
	}
	return nil
}

func scalar(value json.RawMessage, at string) (string, error) {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0 || string(value) == "null":
		return "", nil
	case value[0] == '{' || value[0] == '[':
		return "", &Refusal{BadValue, fmt.Sprintf("the value at %s of the payload is an object or a list: a text or a "+
			"number is needed", at)}
	case value[0] == '"':
		var s string
		_ = json.Unmarshal(value, &s)
		return s, nil
	}
	return string(value), nil
}

// space is the white space of JSON.
const space = " \t\r\n"

func begins(value []byte, c byte) bool {
	value = bytes.TrimLeft(value, space)
	return len(value) > 0 && value[0] == c
}

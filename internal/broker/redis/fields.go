package redis

import (
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// layout says which field of an entry of a stream has the payload, by its name. The fields key and message_id are the
// key and the ID of the message, and every other field is a header of the same name. So an entry of any fields is read
// without loss, and is written again as it was.
//
// A header that has the name of such a field is written with the prefix "header.", as is one that looks as if it had
// been prefixed. An entry without a field for the payload has only headers, and an empty payload is written only where
// there is no header.
type layout string

const (
	keyField  = "key"
	idField   = "message_id"
	headField = "header."
)

// reserved reports whether a name means something, behind any number of prefixes.
func (l layout) reserved(name string) bool {
	for strings.HasPrefix(name, headField) {
		name = name[len(headField):]
	}
	return name == string(l) || name == keyField || name == idField
}

// fields returns the names and values of the fields of a message.
func (l layout) fields(m *driver.Message) []string {
	out := make([]string, 0, 6+2*len(m.Headers))
	if len(m.Payload) > 0 || len(m.Headers) == 0 {
		out = append(out, string(l), string(m.Payload))
	}
	if m.Key != nil {
		out = append(out, keyField, string(m.Key))
	}
	if m.MessageID != "" {
		out = append(out, idField, m.MessageID)
	}
	for _, h := range m.Headers {
		name := h.Name
		if l.reserved(name) {
			name = headField + name
		}
		out = append(out, name, string(h.Value))
	}
	return out
}

// message returns the message of fields. Of several fields with one of the special names the first counts, and the
// others are headers.
func (l layout) message(fields []string) driver.Message {
	var m driver.Message
	for i := 0; i+1 < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		switch {
		case name == string(l) && m.Payload == nil:
			m.Payload = []byte(value)
		case name == keyField && m.Key == nil:
			m.Key = []byte(value)
		case name == idField && m.MessageID == "" && value != "":
			m.MessageID = value
		default:
			if strings.HasPrefix(name, headField) && l.reserved(name) {
				name = name[len(headField):]
			}
			m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: []byte(value)})
		}
	}
	return m
}

package redis

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// layout says which field of an entry of a stream has the payload, by its name. The fields key and message_id are the
// key and the ID of the message, and every other field is a header of the same name. So an entry of any fields is read
// without loss, and is written again as it was.
//
// A header that has the name of such a field is written with the prefix "header.", as is one that looks as if it had
// been prefixed. An entry without a field for the payload has only headers, and an empty payload is written only where
// there is no header. The header redis-fields says what was otherwise in an entry; a field of that name is a header
// with the prefix "redis-header-".
type layout string

const (
	keyField  = "key"
	idField   = "message_id"
	headField = "header."

	// fieldsHeader lists the fields of an entry in their order, one letter each; headers at the end may be missing.
	fieldsHeader = "redis-fields"
	foreign      = "redis-header-"
)

// The letters of fieldsHeader.
const (
	aPayload = 'p'
	aKey     = 'k'
	anID     = 'i'
	aHeader  = 'h'
	aSame    = 's' // a header that is no special field, but is written with the name of one
)

// reserved reports whether a name means something, behind any number of prefixes.
func (l layout) reserved(name string) bool {
	name = unprefixed(name, headField)
	return name == string(l) || name == keyField || name == idField
}

// unprefixed returns a name without any number of prefixes.
func unprefixed(name, prefix string) string {
	for strings.HasPrefix(name, prefix) {
		name = name[len(prefix):]
	}
	return name
}

// isOurs reports whether a header says how an entry was written.
func isOurs(h deadletter.Header) bool { return h.Name == fieldsHeader }

// fields returns the names and values of the fields of a message.
func (l layout) fields(m *driver.Message) []string {
	headers := slices.DeleteFunc(slices.Clone(m.Headers), isOurs)
	var order string
	if i := slices.IndexFunc(m.Headers, isOurs); i >= 0 {
		order = string(m.Headers[i].Value)
	} else if len(m.Payload) == 0 && len(headers) == 0 {
		order = string(aPayload)
	}
	w := writer{layout: l, headers: headers, out: make([]string, 0, 6+2*len(headers))}
	if len(m.Payload) > 0 || strings.ContainsRune(order, aPayload) {
		w.left = append(w.left, field{aPayload, string(l), m.Payload})
	}
	if m.Key != nil {
		w.left = append(w.left, field{aKey, keyField, m.Key})
	}
	if m.MessageID != "" {
		w.left = append(w.left, field{anID, idField, []byte(m.MessageID)})
	}
	for _, letter := range order { // what an edit has changed since has no letter, or is not there any more
		w.write(letter)
	}
	for len(w.left) > 0 {
		w.write(w.left[0].letter)
	}
	for len(w.headers) > 0 {
		w.write(aHeader)
	}
	return w.out
}

// field is a special field of an entry.
type field struct {
	letter rune
	name   string
	value  []byte
}

// writer writes the fields of an entry, each once.
type writer struct {
	layout
	left    []field
	headers []deadletter.Header
	out     []string
}

// write writes the next field of a kind, if one is left.
func (w *writer) write(letter rune) {
	if letter != aHeader && letter != aSame {
		if i := slices.IndexFunc(w.left, func(f field) bool { return f.letter == letter }); i >= 0 {
			w.out = append(w.out, w.left[i].name, string(w.left[i].value))
			w.left = slices.Delete(w.left, i, i+1)
		}
		return
	}
	if len(w.headers) == 0 {
		return
	}
	name, value := w.headers[0].Name, string(w.headers[0].Value)
	w.headers = w.headers[1:]
	switch {
	case letter == aHeader && w.reserved(name):
		name = headField + name
	case unprefixed(name, foreign) == fieldsHeader:
		name = strings.TrimPrefix(name, foreign)
	}
	w.out = append(w.out, name, value)
}

// message returns the message of fields. The first field of a special name counts; more of them are headers.
func (l layout) message(fields []string) driver.Message {
	var m driver.Message
	var order []rune
	for i := 0; i+1 < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		letter := aHeader
		switch {
		case name == string(l) && m.Payload == nil:
			m.Payload, letter = []byte(value), aPayload
		case name == keyField && m.Key == nil:
			m.Key, letter = []byte(value), aKey
		case name == idField && m.MessageID == "" && value != "":
			m.MessageID, letter = value, anID
		case name == string(l) || name == keyField || name == idField:
			letter = aSame
		case strings.HasPrefix(name, headField) && l.reserved(name):
			name = name[len(headField):]
		case unprefixed(name, foreign) == fieldsHeader:
			name = foreign + name
		}
		if letter == aHeader || letter == aSame {
			m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: []byte(value)})
		}
		order = append(order, letter)
	}
	// A payload that is empty would be left out as soon as the message gets headers.
	if empty := m.Payload != nil && len(m.Payload) == 0; empty || !slices.Equal(l.fields(&m), fields) {
		value := strings.TrimRight(string(order), string(aHeader))
		m.Headers = append(m.Headers, deadletter.Header{Name: fieldsHeader, Value: []byte(value)})
	}
	return m
}

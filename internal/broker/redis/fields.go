package redis

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// layout names the field of a stream's entry that has the payload. The fields key and message_id are the key and the ID
// of the message, and every other field is a header of the same name: any entry is read without loss, and written as it
// was.
//
// A header with the name of such a field gets the prefix "header.", as does one that looks prefixed. An entry without a
// field for the payload has only headers; an empty payload is written only without headers. The header redis-fields
// records deviations; a field of that name is a header with the prefix "redis-header-".
type layout string

const (
	keyField  = "key"
	idField   = "message_id"
	headField = "header."

	// fieldsHeader lists the fields of an entry in order, one letter each; headers at the end may be missing.
	fieldsHeader = "redis-fields"
	foreign      = "redis-header-"
)

const (
	aPayload = 'p'
	aKey     = 'k'
	anID     = 'i'
	aHeader  = 'h'
	aSame    = 's' // a header written with the name of a special field
)

func (l layout) reserved(name string) bool {
	name = unprefixed(name, headField)
	return name == string(l) || name == keyField || name == idField
}

func unprefixed(name, prefix string) string {
	for strings.HasPrefix(name, prefix) {
		name = name[len(prefix):]
	}
	return name
}

func isOurs(h deadletter.Header) bool { return h.Name == fieldsHeader }

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
	for _, letter := range order { // edits may have added headers without a letter, and removed others
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

type field struct {
	letter rune
	name   string
	value  []byte
}

type writer struct {
	layout
	left    []field
	headers []deadletter.Header
	out     []string
}

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

// message decodes fields. The first field of a special name counts; others are headers.
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
	// An empty payload would be left out once the message gets headers.
	if empty := m.Payload != nil && len(m.Payload) == 0; empty || !slices.Equal(l.fields(&m), fields) {
		value := strings.TrimRight(string(order), string(aHeader))
		m.Headers = append(m.Headers, deadletter.Header{Name: fieldsHeader, Value: []byte(value)})
	}
	return m
}

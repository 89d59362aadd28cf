package expr

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// A value of an expression is nil, a bool, a number (an int or a json.Number), a string or a text, a list or a
// []any, an object or a map[string]any, or an Encoded. Decoded lists, objects, strings and numbers that are no int
// keep their text, so a value that is only passed on keeps its bytes.

// list is no pointer, because the language follows pointers.
type list struct {
	elements []any
	raw      string
	index    *index // of a long one
}

type object struct {
	members map[string]any
	raw     string
}

// text is a string of a document that is written with escapes.
type text struct{ value, raw string }

// Encoded is a value that a client has encoded. An expression can pass it on and test its presence, but not read
// it.
type Encoded struct {
	envelope.Envelope
	raw string
}

// Decode reads a JSON document for expressions; nothing is null.
func Decode(document []byte) (any, error) {
	d := decoder{in: string(document)}
	if d.space(); d.at == len(d.in) {
		return nil, nil
	}
	if !json.Valid(document) {
		return nil, errors.New("read a JSON value: it is not valid JSON")
	}
	return d.value(), nil
}

type decoder struct {
	in string
	at int
}

func (d *decoder) space() {
	for d.at < len(d.in) && (d.in[d.at] == ' ' || d.in[d.at] == '\t' || d.in[d.at] == '\r' || d.in[d.at] == '\n') {
		d.at++
	}
}

func (d *decoder) value() any {
	d.space()
	switch d.in[d.at] {
	case '{':
		return d.object()
	case '[':
		return d.list()
	case '"':
		s, raw := d.string()
		if len(s) < len(raw)-len(`""`) { // it has escapes
			return text{s, raw}
		}
		return s
	}
	begin := d.at
	for d.at < len(d.in) && strings.IndexByte(",]} \t\r\n", d.in[d.at]) < 0 {
		d.at++
	}
	switch word := d.in[begin:d.at]; word {
	case "null":
		return nil
	case "true", "false":
		return word == "true"
	default:
		return numberOf(word)
	}
}

func numberOf(text string) any {
	if n, err := strconv.Atoi(text); err == nil && text != "-0" {
		return n
	}
	return json.Number(text)
}

func (d *decoder) string() (value, raw string) {
	begin, escapes := d.at, false
	for d.at++; d.in[d.at] != '"'; d.at++ {
		if d.in[d.at] == '\\' {
			d.at++
			escapes = true
		}
	}
	d.at++
	raw = d.in[begin:d.at]
	if !escapes {
		return raw[1 : len(raw)-1], raw
	}
	_ = json.Unmarshal([]byte(raw), &value)
	return value, raw
}

func (d *decoder) list() any {
	l, begin := list{}, d.at
	for d.more(']') {
		l.elements = append(l.elements, d.value())
	}
	l.raw = d.in[begin:d.at]
	if len(l.elements) >= indexedFrom {
		l.index = &index{}
	}
	return l
}

func (d *decoder) object() any {
	o, begin := object{members: map[string]any{}}, d.at
	for d.more('}') {
		name, _ := d.string()
		d.space()
		d.at++ // the colon
		o.members[name] = d.value()
	}
	o.raw = d.in[begin:d.at]
	if e, is := encodedOf(o); is {
		return e
	}
	return o
}

func (d *decoder) more(end byte) bool {
	d.space()
	was := d.in[d.at] // the bracket, a comma, or the end
	if d.at++; was == end {
		return false
	}
	if d.space(); d.in[d.at] != end {
		return true
	}
	d.at++
	return false
}

func encodedOf(o object) (Encoded, bool) {
	if _, is := o.members[envelope.Member]; !is {
		return Encoded{}, false
	}
	plain := make(map[string]any, len(o.members))
	for name, v := range o.members {
		plain[name] = v
		if s, is := stringOf(v); is {
			plain[name] = s
		}
	}
	e, is := envelope.Of(plain)
	return Encoded{e, o.raw}, is
}

func stringOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case text:
		return v.value, true
	}
	return "", false
}

func elementsOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case list:
		return v.elements, true
	}
	return nil, false
}

func membersOf(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case object:
		return v.members, true
	}
	return nil, false
}

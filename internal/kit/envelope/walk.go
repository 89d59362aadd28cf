package envelope

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Rewrite replaces the envelopes of a document, at any depth, by the results of with. Everything else keeps its bytes;
// without envelopes it returns doc itself. It does not search replacements. A document that is not JSON has no
// envelopes. An error is that of with; then there is no document.
func Rewrite(doc []byte, with func(pointer string, e Envelope) ([]byte, error)) ([]byte, error) {
	if !Within(doc) || !json.Valid(doc) {
		return doc, nil
	}
	w := walker{doc: doc, with: with}
	w.value()
	switch {
	case w.err != nil:
		return nil, w.err
	case w.copied == 0:
		return doc, nil
	}
	return append(w.out, doc[w.copied:]...), nil
}

// walker goes through one valid document. It skips values without the reserved member: nesting may be deep.
type walker struct {
	doc []byte
	at  int // next byte to read

	out     []byte
	copied  int // bytes of doc that are in out, or replaced there
	pointer []byte
	err     error

	with func(pointer string, e Envelope) ([]byte, error)
	name func(pointer, name string) // called for every member
}

func (w *walker) value() {
	w.space()
	if w.err != nil {
		w.at = len(w.doc)
		return
	}
	switch w.doc[w.at] {
	case '{':
		if w.with != nil && w.envelope() {
			return
		}
		w.object()
	case '[':
		w.array()
	case '"':
		w.text()
	default:
		for w.at < len(w.doc) && strings.IndexByte(",]} \t\r\n", w.doc[w.at]) < 0 {
			w.at++
		}
	}
}

// envelope replaces the next object if it is an envelope.
func (w *walker) envelope() bool {
	end, members := w.flat()
	if members < 2 || !Within(w.doc[w.at:end]) {
		return false
	}
	var object map[string]any
	if json.Unmarshal(w.doc[w.at:end], &object) != nil || len(object) != members { // a member is there twice
		return false
	}
	e, is := Of(object)
	if !is {
		return false
	}
	by, err := w.with(string(w.pointer), e)
	if err != nil {
		w.err = err
	}
	w.out = append(append(w.out, w.doc[w.copied:w.at]...), by...)
	w.at, w.copied = end, end
	return true
}

// flat returns the end of the next object, and its members if it can be an envelope: at most three texts.
func (w *walker) flat() (end, members int) {
	was := w.at
	defer func() { w.at = was }()
	w.at++ // {
	for texts := 0; texts <= 6; {
		w.space()
		switch w.doc[w.at] {
		case '}':
			return w.at + 1, texts / 2
		case ',', ':':
			w.at++
		case '"':
			w.text()
			texts++
		default:
			return 0, 0
		}
	}
	return 0, 0
}

func (w *walker) object() {
	w.at++ // {
	before := len(w.pointer)
	for w.space(); w.err == nil && w.doc[w.at] != '}'; w.space() {
		if w.doc[w.at] == ',' {
			w.at++
			continue
		}
		name := w.text()
		if w.name != nil {
			w.name(string(w.pointer), name)
		}
		w.space()
		w.at++ // :
		w.pointer = append(append(w.pointer, '/'), escape.Replace(name)...)
		w.value()
		w.pointer = w.pointer[:before]
	}
	w.at++
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func (w *walker) array() {
	w.at++ // [
	before := len(w.pointer)
	for i := 0; w.err == nil; {
		w.space()
		switch w.doc[w.at] {
		case ']':
			w.at++
			return
		case ',':
			w.at++
			i++
		default:
			w.pointer = strconv.AppendInt(append(w.pointer, '/'), int64(i), 10)
			w.value()
			w.pointer = w.pointer[:before]
		}
	}
}

func (w *walker) space() {
	for w.at < len(w.doc) && strings.IndexByte(" \t\r\n", w.doc[w.at]) >= 0 {
		w.at++
	}
}

func (w *walker) text() string {
	start := w.at
	w.at++ // "
	for w.doc[w.at] != '"' {
		if w.doc[w.at] == '\\' {
			w.at++
		}
		w.at++
	}
	w.at++
	raw := w.doc[start:w.at]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // the document is valid
	return s
}

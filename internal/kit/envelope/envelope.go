package envelope

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The members of an envelope.
const (
	Member = "$tasker.codec"
	key    = "key"
	data   = "data"
)

const (
	// maxName bounds the name of a codec, in bytes.
	maxName = 64
	// MaxKey bounds the name of a key, in bytes.
	MaxKey = 255
)

var literal = []byte(`"` + Member + `"`)

// Envelope is an encoded value.
type Envelope struct {
	Codec string
	Key   string // "" without one
	Data  []byte
}

// ValidName reports whether a text can be the name of a codec.
func ValidName(name string) bool {
	return name != "" && len(name) <= maxName &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-._") == "" && name[0] != '-'
}

// ValidKey reports whether a text can be the name of a key: none, or printable ASCII.
func ValidKey(name string) bool {
	return len(name) <= MaxKey && strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// String describes the value.
func (e Envelope) String() string {
	if e.Key == "" {
		return fmt.Sprintf("encoded by the client (codec %s)", e.Codec)
	}
	return fmt.Sprintf("encoded by the client (codec %s, key %s)", e.Codec, e.Key)
}

// MarshalJSON returns the envelope as it is stored.
func (e Envelope) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, len(e.Codec)+len(e.Key)+base64.StdEncoding.EncodedLen(len(e.Data))+48)
	out = append(append(out, '{'), literal...)
	out = append(append(append(out, `:"`...), e.Codec...), '"')
	if e.Key != "" {
		name, err := json.Marshal(e.Key)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"key":`...), name...)
	}
	out = base64.StdEncoding.AppendEncode(append(out, `,"data":"`...), e.Data)
	return append(out, `"}`...), nil
}

// Of returns the envelope in a decoded object.
func Of(object map[string]any) (Envelope, bool) {
	var e Envelope
	name, is := object[Member].(string)
	text, has := object[data].(string)
	if !is || !has || !ValidName(name) || strings.ContainsAny(text, "\r\n") { // line breaks are skipped in base64
		return e, false
	}
	e.Codec = name
	members := 2
	if k, there := object[key]; there {
		if e.Key, is = k.(string); !is || e.Key == "" || !ValidKey(e.Key) {
			return e, false
		}
		members++
	}
	var err error
	e.Data, err = base64.StdEncoding.Strict().DecodeString(text)
	return e, err == nil && len(object) == members
}

// Is reports whether a valid document is itself an envelope.
func Is(doc []byte) bool {
	_, at, found := Find(doc)
	return found && at == ""
}

// Within reports whether a JSON document may have envelopes, by one fast scan.
func Within(doc []byte) bool { return bytes.Contains(doc, literal) }

// Find returns the first envelope of a valid document, with its JSON pointer.
func Find(doc []byte) (e Envelope, pointer string, found bool) {
	_, _ = Rewrite(doc, func(at string, in Envelope) ([]byte, error) {
		if !found {
			e, pointer, found = in, at, true
		}
		return nil, errFound
	})
	return e, pointer, found
}

var errFound = errors.New("found")

// Damaged returns the pointer of the first object of a valid document that has the reserved member and is not an
// envelope: a part of one was changed.
func Damaged(doc []byte) (pointer string, found bool) {
	if !Within(doc) || !json.Valid(doc) {
		return "", false
	}
	w := walker{doc: doc, with: func(_ string, e Envelope) ([]byte, error) { return nil, nil },
		name: func(at, name string) {
			if name == Member && !found {
				pointer, found = at, true
			}
		}}
	w.value()
	return pointer, found
}

// Shown replaces the envelopes of a valid document by words.
func Shown(doc []byte) []byte {
	out, err := Rewrite(doc, func(_ string, e Envelope) ([]byte, error) { return json.Marshal("[" + e.String() + "]") })
	if err != nil {
		return doc
	}
	return out
}

// Reserved returns the pointer of the first object of a valid document that has the reserved member, in any spelling.
func Reserved(doc []byte) (pointer string, found bool) {
	if !Within(doc) && !bytes.Contains(doc, []byte(`\u`)) { // only this escape can spell one of its characters
		return "", false
	}
	if !utf8.Valid(doc) || !json.Valid(doc) {
		return "", false
	}
	w := walker{doc: doc, name: func(at, name string) {
		if name == Member && !found {
			pointer, found = at, true
		}
	}}
	w.value()
	return pointer, found
}

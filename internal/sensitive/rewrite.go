package sensitive

import (
	"bytes"
	"encoding/json"
)

// Replacer returns the JSON that replaces a value. The pointer is that of the value in its document.
type Replacer func(pointer string, value []byte) ([]byte, error)

// Rewrite replaces the values of a document that the Set selects, as Document or Anywhere finds them, and all texts
// whose JSON begins with the bytes of literal, wherever they are. A document that is not JSON is a single value. What
// is not replaced keeps its bytes, and doc itself is returned when nothing is. An error is that of with; then there is
// no document.
func (s *Set) Rewrite(doc []byte, anywhere bool, literal []byte, with Replacer) ([]byte, error) {
	literal = present(doc, literal)
	if len(doc) == 0 || s.Empty() && literal == nil {
		return doc, nil
	}
	if !json.Valid(doc) {
		return with("", doc)
	}
	m := masker{doc: doc, set: s, anywhere: anywhere && !s.Empty(), with: with, literal: literal}
	var p places
	if !s.Empty() {
		p = places{s.root}
	}
	m.value(p, 0)
	switch {
	case m.err != nil:
		return nil, m.err
	case !m.changed:
		return doc, nil
	}
	return append(m.out, doc[m.copied:]...), nil
}

// present returns literal if the document has it, else nil: nearly all have not, and need no full walk.
func present(doc, literal []byte) []byte {
	if len(literal) == 0 || !bytes.Contains(doc, literal) {
		return nil
	}
	return literal
}

package sensitive

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// maxDepth bounds the nesting of the search. Deeper values are masked whole.
const maxDepth = 512

var maskedJSON = []byte(`"` + Mask + `"`)

// Document masks the selected values of a document, by pointers from its root. It also masks a text where a pointer
// leads on, which may be a document as text. It masks a document that is not JSON whole, except null. It returns doc
// itself when nothing is masked, and never changes doc.
func (s *Set) Document(doc []byte) (out []byte, masked bool) { return s.mask(doc, false) }

// Anywhere is Document with pointers from every value: /card masks the member card of the document and of everything in
// it. It is for documents that may contain another one, such as a result that repeats its input. In a JSON patch it
// masks the values of operations whose paths the pointers select.
func (s *Set) Anywhere(doc []byte) (out []byte, masked bool) { return s.mask(doc, true) }

func (s *Set) mask(doc []byte, anywhere bool) (out []byte, masked bool) {
	out, _ = s.Rewrite(doc, anywhere, nil, nil) // to write the mask cannot fail
	return out, !bytes.Equal(out, doc)
}

// Replacer returns the JSON that replaces a value. The pointer is that of the value in its document.
type Replacer func(pointer string, value []byte) ([]byte, error)

// Rewrite replaces the values that Document or Anywhere would mask by the results of with, or by the mask if with is
// nil, and all texts whose JSON begins with the bytes of literal. A document that is not JSON is a single value.
// Everything else keeps its bytes; without a replacement it returns doc itself. An error is that of with; then there is
// no document.
func (s *Set) Rewrite(doc []byte, anywhere bool, literal []byte, with Replacer) ([]byte, error) {
	literal = present(doc, literal)
	if len(doc) == 0 || s.Empty() && literal == nil {
		return doc, nil
	}
	if !json.Valid(doc) {
		if with == nil {
			return slices.Clone(maskedJSON), nil
		}
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

// present returns literal if the document has it, else nil: most documents need no full walk.
func present(doc, literal []byte) []byte {
	if len(literal) == 0 || !bytes.Contains(doc, literal) {
		return nil
	}
	return literal
}

// masker goes through one valid document.
type masker struct {
	doc      []byte
	set      *Set
	anywhere bool

	at      int // next byte to read
	out     []byte
	copied  int // bytes of doc that are in out
	changed bool

	with    Replacer // nil: the mask
	literal []byte   // texts that begin with these bytes are replaced everywhere; nil: none
	pointer []byte   // to the next value; for with only
	err     error    // of with
}

// value reads one value, and masks its selected parts.
func (m *masker) value(p places, depth int) {
	m.space()
	if m.anywhere && depth > 0 && !slices.Contains(p, m.set.root) {
		p = append(slices.Clip(p), m.set.root)
	}
	switch {
	case m.literal != nil && bytes.HasPrefix(m.doc[m.at:], m.literal):
		m.replace()
	case len(p) == 0 && m.literal == nil:
		m.skip()
	case len(p) > 0 && m.selects(p, depth):
		m.replace()
	case m.doc[m.at] == '{' && m.anywhere && m.patch(p, depth):
	case m.doc[m.at] == '{':
		m.members(func(name string) { m.value(p.step(name), depth+1) })
	case m.doc[m.at] == '[':
		m.array(p, depth)
	default:
		m.skip()
	}
}

func (m *masker) selects(p places, depth int) bool {
	c := m.doc[m.at]
	if c == 'n' {
		return false // null reveals nothing, and often means a missing value
	}
	if p.ends() || depth > maxDepth && (c == '{' || c == '[') {
		return true
	}
	return c == '"' && m.leadsOn(p)
}

// leadsOn reports whether a pointer leads into the value. Anywhere, every value is a root, but a text is a document
// only below a pointer.
func (m *masker) leadsOn(p places) bool {
	for _, n := range p {
		if n.leads() && (n != m.set.root || !m.anywhere || m.at == m.first()) {
			return true
		}
	}
	return false
}

func (m *masker) first() int { return len(m.doc) - len(bytes.TrimLeft(m.doc, " \t\r\n")) }

// members reads an object; value reads the value of a member.
func (m *masker) members(value func(name string)) {
	m.at++ // {
	for m.space(); m.doc[m.at] != '}'; m.space() {
		if m.doc[m.at] == ',' {
			m.at++
			continue
		}
		name := m.text()
		m.space()
		m.at++ // :
		m.within(name, func() { value(name) })
	}
	m.at++
}

func (m *masker) array(p places, depth int) {
	m.at++ // [
	for i := 0; ; {
		m.space()
		switch m.doc[m.at] {
		case ']':
			m.at++
			return
		case ',':
			m.at++
			i++
		default:
			index := strconv.Itoa(i)
			m.within(index, func() { m.value(p.step(index), depth+1) })
		}
	}
}

func (m *masker) within(segment string, read func()) {
	if m.with == nil {
		read()
		return
	}
	before := len(m.pointer)
	m.pointer = append(append(m.pointer, '/'), pointer.Escape(segment)...)
	read()
	m.pointer = m.pointer[:before]
}

// patch masks the value of an operation of a JSON patch, and reports whether the pointers concern it.
func (m *masker) patch(p places, depth int) bool {
	end := m.end()
	var op struct {
		Path  *string         `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(m.doc[m.at:end], &op) != nil || op.Path == nil || len(op.Value) == 0 {
		return false
	}
	target, inside := m.set.follow(*op.Path)
	if len(target) == 0 && !inside {
		return false
	}
	m.members(func(name string) {
		next := p.step(name)
		if strings.EqualFold(name, "value") {
			next = append(next, target...)
			if inside {
				next = append(next, &node{end: true})
			}
		}
		m.value(next, depth+1)
	})
	return true
}

// follow returns the places at the end of a path, and whether the path leads into a selected value.
func (s *Set) follow(path string) (at places, inside bool) {
	if path != "" && path[0] != '/' {
		return nil, false
	}
	at = places{s.root}
	for _, segment := range segments(path) {
		if at.ends() {
			return nil, true
		}
		next := at.step(segment)
		if segment == "-" { // the element after the last one: any index
			for _, n := range at {
				for index, child := range n.next {
					if _, err := strconv.Atoi(index); err == nil {
						next = append(next, child)
					}
				}
			}
		}
		at = next
	}
	return at, at.ends()
}

// replace writes the mask, or the result of with, for the next value.
func (m *masker) replace() {
	end := m.end()
	value, by := m.doc[m.at:end], maskedJSON
	if m.with != nil && m.err == nil {
		by, m.err = m.with(string(m.pointer), value)
	}
	if !bytes.Equal(value, by) {
		m.out = append(m.out, m.doc[m.copied:m.at]...)
		m.out = append(m.out, by...)
		m.copied = end
		m.changed = true
	}
	m.at = end
}

func (m *masker) space() { m.at = pointer.Start(m.doc, m.at) }

func (m *masker) text() string {
	start := m.at
	m.skip()
	raw := m.doc[start:m.at]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // the document is valid
	return s
}

func (m *masker) skip() { m.at = m.end() }

func (m *masker) end() int { return pointer.End(m.doc, m.at) }

package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Limits bound the cost of one document. A limit of 0 allows nothing.
type Limits struct {
	// Marks bounds the characters that may begin or end a word of YAML or JSON: every word takes some 300 bytes of the
	// parser's memory.
	Marks int
	// Entries bounds one mapping or list of YAML: the parser's cost grows with its square.
	Entries int
	// Depth bounds the nesting of lists and mappings.
	Depth int
	// Nodes bounds the document after expanding its aliases.
	Nodes int
	// Merged bounds the entries that merge keys copy.
	Merged int
	// Digits bounds a number as written, in characters.
	Digits int
}

// Options describe a document and receive its problems.
type Options struct {
	What   string // the document in messages, such as "a template"
	Limits Limits
	// Report receives every problem, in the order of discovery: a source that is not YAML, repeated keys, and breaches
	// of Limits.
	Report func(at Position, message string)
}

// Parse reads the only document in src. It returns nil for a source without a value, and for an unreadable one, which
// it has reported. Reported parts of the tree are Broken. Parse is safe for hostile sources within Limits. It does not
// keep src.
func Parse(src []byte, o Options) *Node {
	r := &reader{Options: o}
	if !utf8.Valid(src) {
		r.report(invalidAt(src), "the document is not valid UTF-8")
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if marks(src) > r.Limits.Marks {
		r.report(Position{1, 1}, "the document has more than %d lines, entries and other marks of structure", r.Limits.Marks)
		return nil
	}
	var root *Node
	// Both readers give the same tree for JSON; the YAML reader is slower and less exact.
	if json.Valid(src) {
		root = r.jsonTree(src)
	} else {
		root = r.yamlTree(string(src))
	}
	switch {
	case root == nil:
	case root.size > r.Limits.Nodes:
		r.report(root.At, "the document has more than %d values, with its aliases expanded", r.Limits.Nodes)
		return nil
	case root.depth > r.Limits.Depth:
		r.report(root.At, "lists and mappings nest deeper than %d levels", r.Limits.Depth)
		return nil
	}
	return root
}

// reader reads one document. reported counts its problems.
type reader struct {
	Options
	reported int
}

func (r *reader) report(at Position, format string, args ...any) {
	r.reported++
	r.Report(at, fmt.Sprintf(format, args...))
}

// marks is a cheap upper bound for the number of tokens, before the parser allocates them.
func marks(src []byte) int {
	n := 0
	for _, mark := range []byte("\n,:-[]{}&*!?#%|>") {
		n += bytes.Count(src, []byte{mark})
	}
	return n
}

func invalidAt(src []byte) Position {
	at := Position{1, 1}
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if src = src[size:]; c == '\n' {
			at = Position{at.Line + 1, 1}
		} else {
			at.Column++
		}
	}
	return at
}

package document

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/kit/wording"
)

// jsonTree reads valid JSON. The YAML parser refuses indentation with tabs and "key":"value" without a space, and its
// positions are less exact.
func (r *reader) jsonTree(src []byte) *Node {
	j := jsonReader{reader: r, src: src, dec: json.NewDecoder(bytes.NewReader(src)), at: Position{1, 1}}
	j.dec.UseNumber()
	return j.value(j.next(), 1)
}

// jsonReader walks the tokens of a JSON text and keeps their positions.
type jsonReader struct {
	*reader
	src []byte
	dec *json.Decoder

	offset int      // up to here, at has been counted
	at     Position // of the token that next returned
}

// next returns the next token, nil at the end, and moves the position to its first character. Columns count characters,
// so the bytes in between are decoded.
func (r *jsonReader) next() json.Token {
	start := int(r.dec.InputOffset())
	tk, err := r.dec.Token()
	if err != nil {
		return nil // the text is valid, so this is its end
	}
	for start < len(r.src) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src[start]) >= 0 {
		start++
	}
	for r.offset < start {
		c, size := utf8.DecodeRune(r.src[r.offset:])
		r.offset += size
		r.at.Column++
		if c == '\n' {
			r.at = Position{r.at.Line + 1, 1}
		}
	}
	return tk
}

// value builds the node that begins with the token tk. It checks the depth first, to bound the recursion.
func (r *jsonReader) value(tk json.Token, depth int) *Node {
	at := r.at
	if depth > r.Limits.Depth {
		r.report(at, "lists and mappings nest deeper than %d levels", r.Limits.Depth)
		r.skip(tk)
		return newBroken(at)
	}
	switch tk := tk.(type) {
	case json.Delim:
		if tk == '[' {
			var items []*Node
			for r.dec.More() {
				items = append(items, r.value(r.next(), depth+1))
			}
			r.next()
			return newList(at, items)
		}
		return r.object(at, depth)
	case json.Number:
		return r.resolve(tk.String(), at)
	case string:
		return newText(at, tk)
	case bool:
		return newScalar(Boolean, at, map[bool]string{true: "true", false: "false"}[tk], "")
	default:
		return newScalar(Null, at, "null", "")
	}
}

// object builds a mapping, after its opening brace.
func (r *jsonReader) object(at Position, depth int) *Node {
	var pairs []Pair
	first := map[string]Position{}
	for r.dec.More() {
		key, _ := r.next().(string)
		keyAt := r.at
		value := r.value(r.next(), depth+1)
		if was, dup := first[key]; dup {
			r.report(keyAt, "the key %s is used twice; first on line %d", wording.Quoted(key), was.Line)
			continue
		}
		first[key] = keyAt
		pairs = append(pairs, Pair{key, keyAt, value})
	}
	r.next()
	return newMapping(at, pairs)
}

// skip passes the rest of a value that began with tk.
func (r *jsonReader) skip(tk json.Token) {
	open := 0
	for {
		switch tk {
		case json.Delim('{'), json.Delim('['):
			open++
		case json.Delim('}'), json.Delim(']'):
			open--
		}
		if open == 0 {
			return
		}
		tk = r.next()
	}
}

package deadletter

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// A patch cuts into the bytes of a document, so that all else keeps its digits, escapes and space.

type part struct {
	name  string // of a member, as text returns it
	from  int
	value int
	end   int
}

func (p part) of(doc []byte) []byte { return doc[p.value:p.end] }

func kindOf(doc []byte) byte {
	if at := pointer.Start(doc, 0); at < len(doc) {
		return doc[at]
	}
	return 0
}

func parts(doc []byte, at int) iter.Seq2[int, part] {
	return func(yield func(int, part) bool) {
		object := doc[at] == '{'
		at := pointer.Start(doc, at+1)
		for n := 0; doc[at] != '}' && doc[at] != ']'; n++ {
			p := part{from: at, value: at}
			if object {
				end := pointer.End(doc, at)
				p.name = text(doc[at:end])
				p.value = pointer.Start(doc, pointer.Start(doc, end)+1)
			}
			p.end = pointer.End(doc, p.value)
			if !yield(n, p) {
				return
			}
			if at = pointer.Start(doc, p.end); doc[at] == ',' {
				at = pointer.Start(doc, at+1)
			}
		}
	}
}

// text returns a JSON string with as few escapes as possible and without quotes. Unlike package json it keeps halves
// of surrogate pairs apart, so equal texts mean equal strings.
func text(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	c := canonicaliser{in: quoted, exact: true}
	c.text()
	return string(c.out[1 : len(c.out)-1])
}

func said(text string) string {
	var s string
	if strings.IndexByte(text, '\\') < 0 || json.Unmarshal([]byte(`"`+text+`"`), &s) != nil {
		return text
	}
	return s
}

func equalJSON(a, b []byte) bool {
	x, y := canonicaliser{in: a, exact: true}, canonicaliser{in: b, exact: true}
	x.value()
	y.value()
	return bytes.Equal(x.out, y.out)
}

// locate takes the last among members of one name, as readers do.
func locate(doc []byte, path []string) (p part, ok bool) {
	p.value = pointer.Start(doc, 0)
	p.end = pointer.End(doc, p.value)
	for _, name := range path {
		if p, ok = child(doc, p.value, name); !ok {
			return p, false
		}
	}
	return p, true
}

// ValueAt returns the value at a JSON pointer, nil for none. Among members of one name it takes the last.
func ValueAt(doc []byte, at string) []byte {
	quoted, _ := json.Marshal(at) // a string always marshals
	steps, _ := split(text(quoted))
	if p, ok := locate(doc, steps); ok {
		return p.of(doc)
	}
	return nil
}

func child(doc []byte, at int, name string) (found part, ok bool) {
	switch doc[at] {
	case '{':
		for _, p := range parts(doc, at) {
			if p.name == name {
				found, ok = p, true
			}
		}
	case '[':
		wanted, is := index(name)
		for i, p := range parts(doc, at) {
			if is && i == wanted {
				return p, true
			}
		}
	}
	return found, ok
}

func splice(doc []byte, from, to int, text ...[]byte) []byte {
	return slices.Concat(doc[:from], bytes.Join(text, nil), doc[to:])
}

func asMember(name string, value []byte) []byte {
	return slices.Concat([]byte{'"'}, []byte(name), []byte(`":`), value)
}

// rewrite rewrites the object or array at a place: with returns the bytes of each part, or false to remove it with
// its space and comma; more is appended. All else keeps its bytes.
func rewrite(doc []byte, at int, with func(int, part) ([]byte, bool), more ...[]byte) []byte {
	out := slices.Grow(slices.Clone(doc[:at+1]), len(doc)-at)
	empty, end := true, at+1
	for i, p := range parts(doc, at) {
		gap := doc[end:p.from]
		if i == 0 {
			out = append(out, gap...)
		}
		end = p.end
		value, keep := with(i, p)
		if !keep {
			continue
		}
		if !empty {
			out = append(out, gap...)
		}
		empty = false
		out = append(out, value...)
	}
	for _, text := range more {
		if !empty {
			out = append(out, ',')
		}
		empty = false
		out = append(out, text...)
	}
	return append(out, doc[end:]...)
}

// mergePatch applies RFC 7396 to a valid document. Among members of one name the last counts and stays.
func mergePatch(doc, patch []byte) []byte {
	if kindOf(patch) != '{' || envelope.Is(patch) { // an encoded value has no members
		return bytes.TrimSpace(patch)
	}
	if kindOf(doc) != '{' {
		doc = []byte("{}")
	}
	type change struct {
		value []byte
		place int
	}
	changes := map[string]*change{}
	var order []string
	for _, p := range parts(patch, pointer.Start(patch, 0)) {
		if changes[p.name] == nil {
			order = append(order, p.name)
		}
		changes[p.name] = &change{p.of(patch), -1}
	}
	at := pointer.Start(doc, 0)
	for i, p := range parts(doc, at) {
		if c := changes[p.name]; c != nil {
			c.place = i
		}
	}
	var added [][]byte
	for _, name := range order {
		if c := changes[name]; c.place < 0 && string(c.value) != "null" {
			added = append(added, asMember(name, mergePatch(nil, c.value)))
		}
	}
	return rewrite(doc, at, func(i int, p part) ([]byte, bool) {
		c := changes[p.name]
		if c == nil {
			return doc[p.from:p.end], true
		}
		if string(c.value) == "null" || i != c.place {
			return nil, false
		}
		return slices.Concat(doc[p.from:p.value], mergePatch(p.of(doc), c.value)), true
	}, added...)
}

func split(text string) ([]string, bool) {
	if text == "" {
		return nil, true
	}
	if text[0] != '/' {
		return nil, false
	}
	parts := strings.Split(text[1:], "/")
	for i, p := range parts {
		if strings.Count(p, "~") != strings.Count(p, "~0")+strings.Count(p, "~1") {
			return nil, false
		}
		parts[i] = pointer.Unescape(p)
	}
	return parts, true
}

func index(name string) (i int, ok bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == name
}

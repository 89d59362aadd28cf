package deadletter

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// MaxChanges bounds a Diff; maxShown bounds a value in it, in bytes.
const (
	MaxChanges = 100
	maxShown   = 512
)

// Diff lists at most MaxChanges differences from a to b: key, headers, payload. JSON payloads are compared by value.
func Diff(a, b Content) []model.Change {
	var d differ
	if !bytes.Equal(a.Key, b.Key) || (a.Key == nil) != (b.Key == nil) {
		d.add("key", a.Key, b.Key)
	}
	d.headers(a.Headers, b.Headers)
	switch {
	case bytes.Equal(a.Payload, b.Payload):
	case isJSON(a.Payload) && isJSON(b.Payload):
		d.documents("", a.Payload, b.Payload)
	default:
		d.add("payload", a.Payload, b.Payload)
	}
	return d
}

func isJSON(p []byte) bool { return len(p) > 0 && task.JSONFault(p, MaxPayload) == "" }

type differ []model.Change

func (d *differ) add(at string, before, after []byte) {
	at = cmp.Or(at, "payload")
	if len(*d) < MaxChanges {
		*d = append(*d, model.Change{Pointer: failure.Cut(at, 4*maxShown), Before: show(before),
			After: show(after)})
	}
}

func show(v []byte) string {
	if cut := v[:min(len(v), maxShown+utf8.UTFMax)]; !printable(cut) {
		return failure.Cut(fmt.Sprintf("%q", cut), maxShown)
	}
	return failure.Cut(string(v[:min(len(v), 2*maxShown)]), maxShown)
}

// printable accepts a text whose last rune is cut off.
func printable(v []byte) bool {
	for len(v) > 0 {
		r, size := utf8.DecodeRune(v)
		if r == utf8.RuneError && size == 1 && utf8.FullRune(v) || task.CharacterFault(string(r), true) != "" {
			return false
		}
		v = v[size:]
	}
	return true
}

func (d *differ) headers(a, b []Header) {
	seen := map[string]bool{}
	for _, list := range [][]Header{a, b} {
		for _, h := range list {
			if seen[h.Name] {
				continue
			}
			seen[h.Name] = true
			before, after := values(a, h.Name), values(b, h.Name)
			for i := range max(len(before), len(after)) {
				if x, y := nth(before, i), nth(after, i); i >= len(before) || i >= len(after) || !bytes.Equal(x, y) {
					d.add("header "+h.Name, x, y)
				}
			}
		}
	}
}

func values(list []Header, name string) [][]byte {
	var out [][]byte
	for _, h := range list {
		if h.Name == name {
			out = append(out, h.Value)
		}
	}
	return out
}

// nth returns nil beyond the ends: a missing value differs from an empty one.
func nth(list [][]byte, i int) []byte {
	if 0 <= i && i < len(list) {
		return list[i]
	}
	return nil
}

// documents matches members by name, those of one name from the last to the first, and elements by index.
func (d *differ) documents(at string, a, b []byte) {
	switch kind := kindOf(a); {
	case len(*d) >= MaxChanges:
	case kind == '{' && kindOf(b) == '{':
		names, before := members(a)
		more, after := members(b)
		for _, name := range append(names, more...) {
			below := at + "/" + pointer.Escape(said(name))
			x, y := before[name], after[name]
			for i := max(len(x), len(y)); i > 0; i-- {
				d.either(below, nth(x, len(x)-i), nth(y, len(y)-i))
			}
			delete(before, name)
			delete(after, name)
		}
	case kind == '[' && kindOf(b) == '[':
		before, after := elements(a), elements(b)
		for i := range max(len(before), len(after)) {
			d.either(fmt.Sprintf("%s/%d", at, i), nth(before, i), nth(after, i))
		}
	case !equalJSON(a, b):
		d.add(at, bytes.TrimSpace(a), bytes.TrimSpace(b))
	}
}

func (d *differ) either(at string, a, b []byte) {
	if a == nil || b == nil {
		d.add(at, a, b)
		return
	}
	d.documents(at, a, b)
}

func members(doc []byte) (names []string, values map[string][][]byte) {
	values = map[string][][]byte{}
	for _, p := range parts(doc, pointer.Start(doc, 0)) {
		names = append(names, p.name)
		values[p.name] = append(values[p.name], p.of(doc))
	}
	return names, values
}

func elements(doc []byte) (list [][]byte) {
	for _, p := range parts(doc, pointer.Start(doc, 0)) {
		list = append(list, p.of(doc))
	}
	return list
}

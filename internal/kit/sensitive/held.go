package sensitive

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// Held returns the pointers to selected values of a document that are the mask itself: its sender has seen the masked
// document, and would overwrite the hidden values. Pointers count from the root; in a JSON patch, an array of
// operations, from the document that it changes. It returns at most 16.
func (s *Set) Held(doc []byte) []string { return s.held(doc, false) }

// HeldAnywhere is Held for a document that is masked with Anywhere.
func (s *Set) HeldAnywhere(doc []byte) []string { return s.held(doc, true) }

func (s *Set) held(doc []byte, anywhere bool) []string {
	if s.Empty() || len(doc) == 0 ||
		!bytes.Contains(doc, []byte("masked")) && bytes.IndexByte(doc, 0x5c) < 0 { // a backslash may spell it otherwise
		return nil
	}
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return nil
	}
	h := holder{}
	if anywhere {
		h.root = s.root
	}
	h.hold(v, places{s.root}, "")
	return h.found
}

// HeldPatch is Held for a JSON patch (an array) or a JSON merge patch (an object).
func (s *Set) HeldPatch(patch []byte) []string {
	if s.Empty() || len(patch) == 0 {
		return nil
	}
	var ops []struct {
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if !isList(patch) {
		return s.Held(patch)
	}
	if json.Unmarshal(patch, &ops) != nil {
		return nil // refused elsewhere
	}
	var h holder
	for _, op := range ops {
		at, inside := s.follow(op.Path)
		if inside {
			at = places{&node{end: true}}
		}
		h.hold(op.Value, at, op.Path)
	}
	return h.found
}

func isList(doc []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(doc, " \t\r\n"), []byte("[")) }

const maxHeld = 16

type holder struct {
	root  *node // where pointers begin at every value; nil: only at the root of the document
	found []string
}

func (h *holder) hold(v any, p places, at string) {
	if h.root != nil && at != "" && !slices.Contains(p, h.root) {
		p = append(slices.Clip(p), h.root)
	}
	if len(p) == 0 || len(h.found) >= maxHeld {
		return
	}
	switch v := v.(type) {
	case string:
		if v == Mask && (p.ends() || p.lead(h.root)) {
			h.found = append(h.found, at)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			h.hold(v[name], p.step(name), at+"/"+pointer.Escape(name))
		}
	case []any:
		for i, element := range v {
			index := strconv.Itoa(i)
			h.hold(element, p.step(index), at+"/"+index)
		}
	}
}

// lead reports whether a pointer that did not begin here leads on: then a text is masked.
func (p places) lead(root *node) bool {
	for _, n := range p {
		if n != root && n.leads() {
			return true
		}
	}
	return false
}

// Reads returns the pointers at which a JSON patch would compare, copy or move selected values: its sender could learn
// a value, or bring it to a place where it is shown. A merge patch reads nothing.
func (s *Set) Reads(patch []byte) []string {
	var ops []struct {
		Op   string `json:"op"`
		Path string `json:"path"`
		From string `json:"from"`
	}
	if s.Empty() || !isList(patch) || json.Unmarshal(patch, &ops) != nil {
		return nil
	}
	var found []string
	for i, op := range ops {
		at, name := op.From, "/from"
		switch op.Op {
		case "test":
			at, name = op.Path, "/path"
		case "copy", "move":
		default:
			continue
		}
		if len(found) < maxHeld && s.Touches(at) {
			found = append(found, "/"+strconv.Itoa(i)+name)
		}
	}
	return found
}

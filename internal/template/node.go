package template

import (
	"encoding/json"
	"strconv"
	"strings"
)

// position is a place in the source; line and column count from 1.
type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// kind is what a node is in the JSON data model.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	mapping
)

// String names the kind as an author would.
func (k kind) String() string {
	return [...]string{"null", "true or false", "a whole number", "a number", "a string", "a list", "a mapping"}[k]
}

// node is one value of a document, whichever notation it was written in. An
// alias shares the node of its anchor, so a tree may be larger than its source;
// size says how large.
type node struct {
	kind kind
	at   position
	// text is the string, or the scalar in JSON: canonical, so that equal values
	// have equal text.
	text string
	raw  string // the scalar as written
	// broken marks a null that stands for a value already reported.
	broken bool
	items  []*node
	pairs  []pair

	size  int // nodes, this one included, aliases expanded
	depth int
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	at    position
	value *node
}

// newScalar, newList and newMapping keep size and depth, which guard every walk.
func newScalar(k kind, at position, text, raw string) *node {
	return &node{kind: k, at: at, text: text, raw: raw, size: 1, depth: 1}
}

// newBroken stands for a value that could not be read, so that the rest is.
func newBroken(at position) *node {
	return &node{kind: null, at: at, text: "null", broken: true, size: 1}
}

func newList(at position, items []*node) *node {
	n := &node{kind: list, at: at, items: items, size: 1, depth: 1}
	for _, item := range items {
		n.adopt(item)
	}
	return n
}

func newMapping(at position, pairs []pair) *node {
	n := &node{kind: mapping, at: at, pairs: pairs, size: 1, depth: 1}
	for _, p := range pairs {
		n.adopt(p.value)
	}
	return n
}

// adopt counts a child. The size saturates: aliases of aliases grow as powers.
func (n *node) adopt(child *node) {
	n.size = min(n.size+child.size, maxNodes+1)
	n.depth = max(n.depth, child.depth+1)
}

// get returns the value of a key, nil when it is absent.
func (n *node) get(key string) *node {
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// value converts to what encoding/json knows; numbers keep their digits.
func (n *node) value() any {
	switch n.kind {
	case null:
		return nil
	case boolean:
		return n.text == "true"
	case integer, float:
		return json.Number(n.text)
	case list:
		out := make([]any, 0, len(n.items))
		for _, item := range n.items {
			out = append(out, item.value())
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			out[p.key] = p.value.value()
		}
		return out
	default:
		return n.text
	}
}

// follow follows a JSON pointer as far as it leads.
func (n *node) follow(pointer string) *node {
	if pointer == "" {
		return n
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := n.get(part)
		if i, err := strconv.Atoi(part); n.kind == list && err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

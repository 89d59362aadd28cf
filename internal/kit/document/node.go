package document

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// Position is a place in the source; line and column count from 1, the column in characters.
type Position struct{ Line, Column int }

// Before reports whether p is before q.
func (p Position) Before(q Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// Kind is the type of a node in the data model of JSON.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Boolean
	Integer
	Float
	Text
	List
	Mapping
)

// String returns the name of the kind for messages.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a whole number", "a number", "a string", "a list", "a mapping"}[k]
}

// Node is one value of a document, independent of its notation. An alias shares the node of its anchor, so a tree can
// be larger than its source; see Size. A Node is immutable after Parse and safe for concurrent use.
type Node struct {
	Kind Kind
	At   Position
	// Text is the string, or the canonical JSON of the scalar: equal values have equal text.
	Text string
	Raw  string // a scalar of YAML, or a number of JSON, as written
	// Quoted marks a string in quotes or as a block.
	Quoted bool
	// Broken marks a null instead of a reported value.
	Broken bool
	Items  []*Node // of a list
	Pairs  []Pair  // of a mapping, in the order of the source

	size  int // nodes, including this one, with expanded aliases
	depth int
}

// Pair is one entry of a mapping. Keys are unique; a repeated one was reported.
type Pair struct {
	Key   string
	At    Position // of the key
	Value *Node
}

// NewText returns the node of a string outside any document, such as the value of a flag.
func NewText(s string) *Node { return newText(Position{}, s) }

// newText returns a string, even if it looks like another scalar.
func newText(at Position, s string) *Node {
	n := newScalar(Text, at, s, s)
	n.Quoted = true
	return n
}

// newScalar, newList and newMapping keep size and depth, which guard every walk.
func newScalar(k Kind, at Position, text, raw string) *Node {
	return &Node{Kind: k, At: at, Text: text, Raw: raw, size: 1, depth: 1}
}

// newBroken replaces an unreadable value, so that the rest of the document can be checked.
func newBroken(at Position) *Node {
	return &Node{Kind: Null, At: at, Text: "null", Broken: true, size: 1}
}

func newList(at Position, items []*Node) *Node {
	n := &Node{Kind: List, At: at, Items: items, size: 1, depth: 1}
	for _, item := range items {
		n.adopt(item)
	}
	return n
}

func newMapping(at Position, pairs []Pair) *Node {
	n := &Node{Kind: Mapping, At: at, Pairs: pairs, size: 1, depth: 1}
	for _, p := range pairs {
		n.adopt(p.Value)
	}
	return n
}

// sizeMost bounds Size: aliases of aliases grow exponentially and would overflow.
const sizeMost = math.MaxInt32

// Size returns the number of nodes in the tree, with expanded aliases, at most 2^31-1.
func (n *Node) Size() int { return n.size }

func (n *Node) adopt(child *Node) {
	n.size = min(n.size+child.size, sizeMost)
	n.depth = max(n.depth, child.depth+1)
}

// Get returns the value of a key in a mapping, nil if there is none or for another kind. It is linear: mappings are
// short.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

// Value converts the tree to the types of encoding/json. Numbers are json.Number and keep their digits. Its cost is
// that of Size, which Parse has bounded.
func (n *Node) Value() any {
	switch n.Kind {
	case Null:
		return nil
	case Boolean:
		return n.Text == "true"
	case Integer, Float:
		return json.Number(n.Text)
	case List:
		out := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			out = append(out, item.Value())
		}
		return out
	case Mapping:
		out := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			out[p.Key] = p.Value.Value()
		}
		return out
	default:
		return n.Text
	}
}

// Follow returns the node at a JSON pointer, or the last existing node on the way: a problem with a missing key is
// reported at its parent. An invalid pointer ends the walk early.
func (n *Node) Follow(at string) *Node {
	if at == "" {
		return n
	}
	for _, part := range strings.Split(at, "/")[1:] {
		part = pointer.Unescape(part)
		next := n.Get(part)
		if i, err := strconv.Atoi(part); n.Kind == List && err == nil && i >= 0 && i < len(n.Items) {
			next = n.Items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

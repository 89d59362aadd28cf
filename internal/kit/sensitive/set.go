package sensitive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// Bounds of a list of pointers.
const (
	MaxPointers = 64
	MaxBytes    = 512 // of one pointer
	MaxSegments = 32  // of one pointer
)

// Mask is the text that replaces a hidden value.
const Mask = "[masked]"

// Fault is the fault of one pointer, or of the whole list with Index -1.
type Fault struct {
	Index   int
	Message string
}

// Check returns the faults of a list of pointers, none for a list that Parse accepts.
func Check(pointers []string) []Fault {
	var faults []Fault
	if len(pointers) > MaxPointers {
		faults = append(faults, Fault{-1, fmt.Sprintf("must have at most %d pointers, not %d", MaxPointers, len(pointers))})
	}
	for i, p := range pointers {
		if message := faultOf(p); message != "" {
			faults = append(faults, Fault{i, message})
		}
	}
	return faults
}

func faultOf(p string) string {
	switch {
	case len(p) > MaxBytes:
		return "must have at most " + strconv.Itoa(MaxBytes) + " bytes"
	case !utf8.ValidString(p):
		return "must be UTF-8"
	case strings.ContainsFunc(p, hidden):
		return "must not contain control characters"
	case p != "" && p[0] != '/':
		return "is not a JSON pointer: it is empty or begins with /"
	case strings.Count(p, "/") > MaxSegments:
		return "must have at most " + strconv.Itoa(MaxSegments) + " segments"
	}
	if rest := strings.NewReplacer("~0", "", "~1", "").Replace(p); strings.Contains(rest, "~") {
		return "is not a JSON pointer: ~ stands before 0 or 1 only"
	}
	return ""
}

// hidden reports whether r is invisible in a list of pointers, or changes the look of the text after it.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Set is the selection of a list of pointers. A nil Set selects nothing.
type Set struct {
	root  *node
	count int
}

// node is a place in the tree of all pointers of a Set.
type node struct {
	end  bool // a pointer ends here
	any  *node
	next map[string]*node
}

// Parse returns the Set of a list of pointers, nil for an empty list. The error is the first fault of Check.
func Parse(pointers []string) (*Set, error) {
	if faults := Check(pointers); len(faults) > 0 {
		return nil, fmt.Errorf("sensitive pointer %d: %s", faults[0].Index, faults[0].Message)
	}
	return Lenient(pointers), nil
}

// All selects every document whole, for pointers that cannot be read.
func All() *Set { return &Set{root: &node{end: true}, count: 1} }

// Empty reports whether the Set selects nothing.
func (s *Set) Empty() bool { return s == nil || s.count == 0 }

// segments are the parts of a pointer that is "" or begins with /.
func segments(at string) []string {
	if at == "" {
		return nil
	}
	parts := strings.Split(at[1:], "/")
	for i, part := range parts {
		parts[i] = pointer.Unescape(part)
	}
	return parts
}

func (n *node) leads() bool { return n.any != nil || len(n.next) > 0 }

func (n *node) child(segment string) *node {
	if segment == "*" {
		if n.any == nil {
			n.any = &node{}
		}
		return n.any
	}
	if n.next == nil {
		n.next = map[string]*node{}
	}
	if n.next[segment] == nil {
		n.next[segment] = &node{}
	}
	return n.next[segment]
}

// places are the nodes that pointers reach at a value.
type places []*node

func (p places) step(segment string) places {
	var out places
	for _, n := range p {
		if next := n.next[segment]; next != nil {
			out = append(out, next)
		}
		if n.any != nil {
			out = append(out, n.any)
		}
	}
	return out
}

func (p places) ends() bool {
	for _, n := range p {
		if n.end {
			return true
		}
	}
	return false
}

// Lenient is Parse without bounds, for pointers that were checked once. Unreadable pointers hide everything.
func Lenient(pointers []string) *Set {
	if len(pointers) == 0 {
		return nil
	}
	s := &Set{root: &node{}, count: len(pointers)}
	for _, p := range pointers {
		if p != "" && p[0] != '/' {
			return All()
		}
		at := s.root
		for _, segment := range segments(p) {
			at = at.child(segment)
		}
		at.end = true
	}
	return s
}

// Touches reports whether a pointer of the Set selects the value at path, something in it, or something around it.
func (s *Set) Touches(path string) bool {
	if s.Empty() {
		return false
	}
	at, inside := s.follow(path)
	return inside || len(at) > 0
}

// With returns the union of s and Lenient pointers.
func (s *Set) With(pointers []string) *Set {
	if len(pointers) == 0 {
		return s
	}
	also := Lenient(pointers)
	if s.Empty() {
		return also
	}
	both := &Set{root: &node{}, count: s.count + also.count}
	both.root.take(s.root)
	both.root.take(also.root)
	return both
}

func (n *node) take(of *node) {
	n.end = n.end || of.end
	if of.any != nil {
		n.child("*").take(of.any)
	}
	for segment, child := range of.next {
		n.child(segment).take(child)
	}
}

// TouchesPath is Touches for the segments of a pointer.
func (s *Set) TouchesPath(path []string) bool {
	at := ""
	for _, segment := range path {
		at += "/" + pointer.Escape(segment)
	}
	return s.Touches(at)
}

// Rule says which values of an object are sensitive.
type Rule struct {
	Pointers []string
	// Headers of sources, in any case.
	Headers []string
	// The source of the message that made the task, "" for none: its rule holds, too.
	Namespace, Source string
}

// Covers reports whether the rule hides at least as much as another one.
func (r Rule) Covers(other Rule) bool {
	set := Lenient(r.Pointers)
	for _, pointer := range other.Pointers {
		if !set.covers(pointer) {
			return false
		}
	}
	for _, name := range other.Headers {
		if !slices.ContainsFunc(r.Headers, func(h string) bool { return strings.EqualFold(h, name) }) {
			return false
		}
	}
	return true
}

// covers reports whether the Set selects the values of another pointer, or something around them.
func (s *Set) covers(pointer string) bool {
	if s.Empty() {
		return false
	}
	at := places{s.root}
	for _, segment := range segments(pointer) {
		if at.ends() {
			break
		}
		at = at.step(segment)
	}
	return at.ends()
}

// Look is one look at sensitive values.
type Look struct {
	Operation string // ID of the operation
	Object    string // path of the object
	TaskUUID  [16]byte
	CaseUUID  [16]byte
	Namespace string // of the object, "" for none
}

// InTask returns the pointers of a source's rule for the context of a task: the payload, or an object with the message.
func (r Rule) InTask() []string {
	pointers := append([]string{}, r.Pointers...)
	for _, at := range r.Pointers {
		pointers = append(pointers, "/payload"+at)
	}
	for _, name := range r.Headers {
		pointers = append(pointers, "/headers/"+pointer.Escape(name))
	}
	return pointers
}

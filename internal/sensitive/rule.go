package sensitive

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/pointer"
)

// Rule says which values of an object are sensitive.
type Rule struct {
	Pointers []string
	// Headers are the names of headers, in any case; of sources.
	Headers []string
	// Namespace and Source are the source of a message that the task was made of, "" for none: its rule holds as well.
	Namespace, Source string
}

// Covers reports whether the rule hides at least what another one does.
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

// covers reports whether a pointer of the Set leads to the values that another pointer selects, or to what they are in.
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

// Look is one look at what is sensitive.
type Look struct {
	Operation string // ID of the operation
	Object    string // path of the object
	TaskUUID  [16]byte
	CaseUUID  [16]byte
	Namespace string // of the object, "" if the answer is not about one
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

package deadletter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/pointer"
	"github.com/taskerhq/tasker/internal/task"
)

// patchOp is an operation of a JSON patch (RFC 6902). Its texts are those that text returns.
type patchOp struct {
	op         string
	path, from string
	value      []byte
}

// MaxOperations bounds the operations of a JSON patch.
const MaxOperations = 100

// patchProblems reads a valid array as a JSON patch. Its problems do not depend on the document that it changes.
func patchProblems(patch []byte) (ops []patchOp, list problems) {
	for i, p := range parts(patch, pointer.Start(patch, 0)) {
		if i >= MaxOperations { // they are counted, and not read
			ops = append(ops, patchOp{})
			continue
		}
		var op patchOp
		op.read(p.of(patch), fmt.Sprintf("/%d", i), &list)
		ops = append(ops, op)
	}
	list.entries("", len(ops), MaxOperations)
	return ops, list
}

// The members of an operation. Others are ignored, as the RFC has it.
const (
	opMember, pathMember, fromMember, valueMember = "op", "path", "from", "value"
)

// read reads an operation, and adds its problems at a place.
func (op *patchOp) read(doc []byte, at string, list *problems) {
	if kindOf(doc) != '{' {
		list.add(at, "must be an object")
		return
	}
	got := map[string][]byte{}
	for _, p := range parts(doc, 0) {
		for _, known := range []string{opMember, pathMember, fromMember, valueMember} {
			// A name that is nearly right is a mistake. Other programs may take it for the right one.
			list.when(p.name != known && strings.EqualFold(p.name, known), at+"/"+p.name, "must be written "+known)
		}
		list.when(got[p.name] != nil, at+"/"+pointer.Escape(said(p.name)), "appears twice")
		got[p.name] = p.of(doc)
	}
	if v := got[opMember]; kindOf(v) == '"' {
		op.op = text(v)
	}
	needsValue := op.op == "add" || op.op == "replace" || op.op == "test"
	needsFrom := op.op == "move" || op.op == "copy"
	list.when(!needsValue && !needsFrom && op.op != "remove", at+"/op",
		"must be one of add, remove, replace, move, copy, test")
	op.path = list.pointer(at+"/path", got[pathMember])
	if needsFrom {
		op.from = list.pointer(at+"/from", got[fromMember])
	}
	op.value = got[valueMember]
	list.when(needsValue && op.value == nil, at+"/value", "is missing")
}

// pointer returns the text of a member that must be a JSON pointer, or adds its problem.
func (p *problems) pointer(at string, value []byte) string {
	if kindOf(value) != '"' {
		p.when(value == nil, at, "is missing")
		p.when(value != nil, at, "must be a string")
		return ""
	}
	s := text(value)
	_, ok := split(s)
	p.when(!ok, at, "is not a JSON pointer: it is empty or begins with /")
	return s
}

// jsonPatch applies a checked JSON patch to a valid document of at most limit bytes, whole or not at all.
func jsonPatch(doc []byte, ops []patchOp, limit int) ([]byte, *task.Problem) {
	for i, op := range ops {
		next, fault := op.apply(doc)
		if fault == "" && len(next) > limit {
			fault = fmt.Sprintf("makes the payload larger than %d bytes", limit) // copies can double it each time
		}
		if fault != "" {
			return nil, &task.Problem{Location: fmt.Sprintf("/%d", i), Message: fault}
		}
		doc = next
	}
	return doc, nil
}

// apply applies one operation. The fault says why it does not apply.
func (op patchOp) apply(doc []byte) ([]byte, string) {
	switch op.op {
	case "add":
		return add(doc, op.path, op.value)
	case "remove":
		return remove(doc, op.path)
	case "replace":
		if _, fault := lookUp(doc, op.path); fault != "" {
			return nil, fault
		}
		return put(doc, op.path, op.value)
	case "test":
		got, fault := lookUp(doc, op.path)
		if fault == "" && !equalJSON(got, op.value) {
			fault = "the test fails: the value at " + shown(op.path) + " is another one"
		}
		return doc, fault
	}
	// What is left are move and copy.
	value, fault := lookUp(doc, op.from)
	if fault != "" {
		return nil, fault
	}
	if op.op == "move" {
		if op.path == op.from {
			return doc, ""
		}
		if strings.HasPrefix(op.path, op.from+"/") {
			return nil, "a value cannot be moved into itself"
		}
		if doc, fault = remove(doc, op.from); fault != "" {
			return nil, fault
		}
	}
	return add(doc, op.path, value)
}

func shown(path string) string {
	if path == "" {
		return "the top"
	}
	return bounded(said(path))
}

func nothingAt(path string) string { return "there is no value at " + shown(path) }

// lookUp returns the value at a place.
func lookUp(doc []byte, path string) ([]byte, string) {
	steps, _ := split(path)
	p, ok := locate(doc, steps)
	if !ok {
		return nil, nothingAt(path)
	}
	return p.of(doc), ""
}

// container returns where the value begins that holds a place of a document, and the name of the place in it.
func container(doc []byte, path string) (at int, name string, fault string) {
	steps, _ := split(path)
	last := len(steps) - 1
	p, ok := locate(doc, steps[:last])
	if !ok || doc[p.value] != '{' && doc[p.value] != '[' {
		return 0, "", nothingAt(path)
	}
	return p.value, steps[last], ""
}

// add puts a value at a place: in an object it replaces a member or appends one, in an array it shifts those behind.
func add(doc []byte, path string, value []byte) ([]byte, string) {
	if path == "" {
		return value, ""
	}
	at, name, fault := container(doc, path)
	if fault != "" {
		return nil, fault
	}
	found, there := child(doc, at, name)
	keep := func(_ int, p part) ([]byte, bool) { return doc[p.from:p.end], true }
	switch {
	case doc[at] == '{' && there:
		return put(doc, path, value)
	case doc[at] == '{':
		return rewrite(doc, at, keep, asMember(name, value)), ""
	case there:
		return splice(doc, found.from, found.from, value, []byte{','}), ""
	}
	n := 0
	for range parts(doc, at) {
		n++
	}
	if i, ok := index(name); name != "-" && !(ok && i == n) {
		return nil, nothingAt(path)
	}
	return rewrite(doc, at, keep, value), ""
}

// put replaces the value at a place that exists. Other members of its name go: the last is the one that counts.
func put(doc []byte, path string, value []byte) ([]byte, string) {
	if path == "" {
		return value, ""
	}
	return change(doc, path, func(p part) ([]byte, bool) { return slices.Concat(doc[p.from:p.value], value), true })
}

// remove removes the value at a place, with all members of its name: the one before would show otherwise.
func remove(doc []byte, path string) ([]byte, string) {
	if path == "" {
		return nil, "the whole payload cannot be removed"
	}
	return change(doc, path, func(part) ([]byte, bool) { return nil, false })
}

// change does something with the part at a place, and removes other members of its name.
func change(doc []byte, path string, with func(part) ([]byte, bool)) ([]byte, string) {
	at, name, fault := container(doc, path)
	if fault != "" {
		return nil, fault
	}
	found, ok := child(doc, at, name)
	if !ok {
		return nil, nothingAt(path)
	}
	return rewrite(doc, at, func(_ int, p part) ([]byte, bool) {
		if p == found {
			return with(p)
		}
		return doc[p.from:p.end], doc[at] == '[' || p.name != name
	}), ""
}

package deadletter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The bounds of an edit.
const (
	MaxPatch   = 256 << 10 // bytes
	MaxHeaders = 100
	MaxKey     = 32 << 10
	MaxPayload = 16 << 20
)

// Validate returns the problems that do not depend on the content, at JSON pointers within the edit. An edit that
// changes nothing is one: it is usually a misspelt field.
func (e *Edit) Validate() []task.Problem {
	var p problems
	if fault := task.JSONFault(e.Patch, MaxPatch); fault != "" {
		p.add("/patch", fault)
	} else if kindOf(e.Patch) == '[' {
		_, list := patchProblems(e.Patch)
		p.below("/patch", list)
	} else {
		p.when(e.Patch != nil && kindOf(e.Patch) != '{', "/patch",
			"must be a JSON merge patch, which is an object, or a JSON patch, which is an array")
	}
	p.entries("/set_headers", len(e.SetHeaders), MaxHeaders)
	for i, h := range e.SetHeaders {
		at := fmt.Sprintf("/set_headers/%d", i)
		p.name(at+"/name", h.Name)
		p.entries(at+"/value", len(h.Value), MaxKey)
		p.when(slices.Contains(e.DropHeaders, h.Name), at+"/name", "is in drop_headers, too")
	}
	p.names("/drop_headers", e.DropHeaders, MaxHeaders)
	p.entries("/key", len(e.Key), MaxKey)
	p.when(e.Patch == nil && len(e.SetHeaders)+len(e.DropHeaders) == 0 && e.Key == nil, "", "changes nothing")
	return p
}

// Apply returns c with a valid edit. Invalid, at a JSON pointer within the edit: the payload is not JSON, or a place
// of a JSON patch does not exist. A header to drop need not exist.
func (e *Edit) Apply(c Content) (Content, error) {
	if e.Patch != nil {
		payload, problem := e.patched(c.Payload)
		if problem != nil {
			err := task.Errorf(task.Invalid, "the edit does not apply")
			err.Problems = []task.Problem{*problem}
			return Content{}, err
		}
		c.Payload = payload
	}
	if e.Key != nil {
		c.Key = e.Key
	}
	c.Headers = e.headers(c.Headers)
	return c, nil
}

func (e *Edit) patched(payload []byte) ([]byte, *task.Problem) {
	fail := func(message string) ([]byte, *task.Problem) {
		return nil, &task.Problem{Location: "/patch", Message: message}
	}
	if len(bytes.TrimSpace(payload)) == 0 {
		return fail("the payload is empty, and not JSON")
	}
	if fault := task.JSONFault(payload, MaxPayload); fault != "" {
		return fail("the payload " + fault)
	}
	var out []byte
	if kindOf(e.Patch) == '[' {
		ops, list := patchProblems(e.Patch)
		if len(list) > 0 {
			return fail(list[0].Location + " " + list[0].Message)
		}
		patched, problem := jsonPatch(payload, ops, MaxPayload)
		if problem != nil {
			problem.Location = "/patch" + problem.Location
			return nil, problem
		}
		out = patched
	} else {
		out = mergePatch(payload, e.Patch)
	}
	if fault := task.JSONFault(out, MaxPayload); fault != "" {
		return fail("the edited payload " + fault)
	}
	if _, broken := envelope.Damaged(out); broken && envelope.Within(payload) {
		return fail("changes a part of a value that is encoded by the client: give the whole value, encoded")
	}
	return out, nil
}

// headers replaces the first header of a set name, or appends it.
func (e *Edit) headers(list []Header) []Header {
	if len(e.SetHeaders)+len(e.DropHeaders) == 0 {
		return list
	}
	set := map[string][]Header{}
	for _, h := range e.SetHeaders {
		set[h.Name] = append(set[h.Name], h)
	}
	placed := map[string]bool{}
	var out []Header
	for _, h := range list {
		switch to, sets := set[h.Name]; {
		case slices.Contains(e.DropHeaders, h.Name):
		case !sets:
			out = append(out, h)
		case !placed[h.Name]:
			placed[h.Name] = true
			out = append(out, to...)
		}
	}
	for _, h := range e.SetHeaders {
		if !placed[h.Name] {
			out = append(out, h)
		}
	}
	return out
}

type patchOp struct {
	op         string
	path, from string
	value      []byte
}

// MaxOperations bounds the operations of a JSON patch.
const MaxOperations = 100

func patchProblems(patch []byte) (ops []patchOp, list problems) {
	for i, p := range parts(patch, pointer.Start(patch, 0)) {
		if i >= MaxOperations { // counted, but not read
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

// The members of an operation. The RFC ignores others.
const (
	opMember, pathMember, fromMember, valueMember = "op", "path", "from", "value"
)

func (op *patchOp) read(doc []byte, at string, list *problems) {
	if kindOf(doc) != '{' {
		list.add(at, "must be an object")
		return
	}
	got := map[string][]byte{}
	for _, p := range parts(doc, 0) {
		for _, known := range []string{opMember, pathMember, fromMember, valueMember} {
			// A name that differs in case is a mistake that other programs may accept.
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

// jsonPatch applies a checked JSON patch, whole or not at all, to a valid document of at most limit bytes.
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

func (op patchOp) apply(doc []byte) ([]byte, string) {
	from := op.path
	if op.op == "move" || op.op == "copy" {
		from = op.from
	}
	steps, _ := split(from)
	p, there := locate(doc, steps)
	switch {
	case op.op == "add":
		return add(doc, op.path, op.value)
	case op.op == "remove":
		return remove(doc, op.path)
	case !there:
		return nil, nothingAt(from)
	case op.op == "replace":
		return put(doc, op.path, op.value)
	case op.op == "test":
		if !equalJSON(p.of(doc), op.value) {
			return nil, "the test fails: the value at " + shown(op.path) + " is another one"
		}
		return doc, ""
	case op.op == "copy":
		return add(doc, op.path, p.of(doc))
	case op.path == op.from:
		return doc, ""
	case strings.HasPrefix(op.path, op.from+"/"):
		return nil, "a value cannot be moved into itself"
	}
	rest, fault := remove(doc, op.from)
	if fault != "" {
		return nil, fault
	}
	return add(rest, op.path, p.of(doc))
}

func shown(path string) string {
	if path == "" {
		return "the top"
	}
	return bounded(said(path))
}

func nothingAt(path string) string { return "there is no value at " + shown(path) }

func container(doc []byte, path string) (at int, name string, fault string) {
	steps, _ := split(path)
	last := len(steps) - 1
	p, ok := locate(doc, steps[:last])
	if !ok || doc[p.value] != '{' && doc[p.value] != '[' {
		return 0, "", nothingAt(path)
	}
	return p.value, steps[last], ""
}

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

// put removes other members of the name: the last counts.
func put(doc []byte, path string, value []byte) ([]byte, string) {
	if path == "" {
		return value, ""
	}
	return change(doc, path, func(p part) ([]byte, bool) { return slices.Concat(doc[p.from:p.value], value), true })
}

func remove(doc []byte, path string) ([]byte, string) {
	if path == "" {
		return nil, "the whole payload cannot be removed"
	}
	return change(doc, path, func(part) ([]byte, bool) { return nil, false })
}

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

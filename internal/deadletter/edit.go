package deadletter

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/envelope"
	"github.com/taskerhq/tasker/internal/task"
)

// The bounds of an edit.
const (
	MaxPatch   = 256 << 10 // bytes
	MaxHeaders = 100
	MaxKey     = 32 << 10 // bytes of a key or the value of a header
	MaxPayload = 16 << 20 // bytes of an edited payload
)

// Validate returns the problems of an edit that do not depend on the content, each at a JSON pointer within it. An edit
// that changes nothing is a problem, too: it is usually a misspelt field.
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
	p.entries("/drop_headers", len(e.DropHeaders), MaxHeaders)
	for i, name := range e.DropHeaders {
		p.name(fmt.Sprintf("/drop_headers/%d", i), name)
	}
	p.entries("/key", len(e.Key), MaxKey)
	p.when(e.Patch == nil && len(e.SetHeaders)+len(e.DropHeaders) == 0 && e.Key == nil, "", "changes nothing")
	return p
}

// Apply returns the content with the edit, which must be valid; c stays as it is. Invalid, with a JSON pointer within
// the edit: the payload is not JSON, or a place of a JSON patch does not exist. A header to drop need not be there.
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

// patched returns the payload with the patch, or what is wrong.
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

// headers returns the headers after the edit. One that is set replaces the first of its name, or stands at the end.
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

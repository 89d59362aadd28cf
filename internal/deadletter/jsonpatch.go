package deadletter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/task"
)

// patchOp is an operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from"`
	Value json.RawMessage `json:"value"`
}

// MaxOperations bounds the operations of a JSON patch.
const MaxOperations = 100

// patchProblems returns the problems of a JSON patch that do not depend on the document.
func patchProblems(patch []byte) (ops []patchOp, list problems) {
	if err := json.Unmarshal(patch, &ops); err != nil {
		list.add("", "is not a list of operations: "+err.Error())
		return nil, list
	}
	list.entries("", len(ops), MaxOperations)
	raw := elements(patch)
	for i, op := range ops {
		at := fmt.Sprintf("/%d", i)
		if kindOf(raw[i]) != '{' {
			list.add(at, "must be an object")
			continue
		}
		needsValue := op.Op == "add" || op.Op == "replace" || op.Op == "test"
		needsFrom := op.Op == "move" || op.Op == "copy"
		list.when(!needsValue && !needsFrom && op.Op != "remove", at+"/op",
			"must be one of add, remove, replace, move, copy, test")
		list.pointer(at+"/path", op.Path)
		if needsFrom {
			list.pointer(at+"/from", op.From)
		}
		list.when(needsValue && find(members(raw[i]), "value") < 0, at+"/value", "is missing")
		if op.Value == nil {
			ops[i].Value = json.RawMessage("null") // package json sets no raw message to null
		}
	}
	return ops, list
}

// pointer adds the problem of a member that must be a JSON pointer.
func (p *problems) pointer(at string, s *string) {
	if s == nil {
		p.add(at, "is missing")
		return
	}
	if _, ok := split(*s); !ok {
		p.add(at, "is not a JSON pointer: it is empty or begins with /")
	}
}

// jsonPatch applies a checked JSON patch to a valid document of at most limit bytes, whole or not at all.
func jsonPatch(doc []byte, ops []patchOp, limit int) (json.RawMessage, *task.Problem) {
	out := json.RawMessage(doc)
	for i, op := range ops {
		next, fault := op.apply(out)
		if fault == "" && len(next) > limit {
			fault = fmt.Sprintf("makes the payload larger than %d bytes", limit) // copies can double it each time
		}
		if fault != "" {
			return nil, &task.Problem{Location: fmt.Sprintf("/%d", i), Message: fault}
		}
		out = next
	}
	return out, nil
}

// apply applies one operation. The fault says why it does not apply.
func (op patchOp) apply(doc json.RawMessage) (json.RawMessage, string) {
	path, _ := split(*op.Path)
	switch op.Op {
	case "add":
		return edit(doc, path, insertion(op.Value))
	case "remove":
		return edit(doc, path, removal)
	case "replace":
		return edit(doc, path, replacement(op.Value))
	case "test":
		got, fault := lookUp(doc, path)
		if fault == "" && !equalJSON(got, op.Value) {
			fault = "the test fails: the value at " + shown(*op.Path) + " is another one"
		}
		return doc, fault
	}
	// What is left are move and copy.
	from, _ := split(*op.From)
	value, fault := lookUp(doc, from)
	if fault != "" {
		return nil, fault
	}
	if op.Op == "move" {
		if *op.Path == *op.From {
			return doc, ""
		}
		if strings.HasPrefix(*op.Path, *op.From+"/") {
			return nil, "a value cannot be moved into itself"
		}
		if doc, fault = edit(doc, from, removal); fault != "" {
			return nil, fault
		}
	}
	return edit(doc, path, insertion(value))
}

// shown is a pointer in an error message.
func shown(pointer string) string {
	if pointer == "" {
		return "the top"
	}
	return bounded(pointer)
}

// change is what happens at the place that a pointer names: to the whole document (nil), or in an object or array.
type change struct {
	whole    func() (json.RawMessage, string)
	inObject func(list []member, name string) ([]member, string)
	inArray  func(list []json.RawMessage, i int) ([]json.RawMessage, string)
}

// nothingThere is the fault of a place that does not exist. edit adds the place.
const nothingThere = "there is no value at "

// insertion is what add does: in an object it replaces a member or appends one, in an array it shifts those behind.
func insertion(v json.RawMessage) change {
	return change{
		whole: func() (json.RawMessage, string) { return v, "" },
		inObject: func(list []member, name string) ([]member, string) {
			if i := find(list, name); i >= 0 {
				list[i].value = v
				return list, ""
			}
			return append(list, member{name, v}), ""
		},
		inArray: func(list []json.RawMessage, i int) ([]json.RawMessage, string) {
			return slices.Insert(list, i, v), ""
		},
	}
}

// replacement is what replace does: the place must exist.
func replacement(v json.RawMessage) change {
	c := insertion(v)
	add := c.inObject
	c.inObject = func(list []member, name string) ([]member, string) {
		if find(list, name) < 0 {
			return nil, nothingThere
		}
		return add(list, name)
	}
	c.inArray = func(list []json.RawMessage, i int) ([]json.RawMessage, string) {
		if i == len(list) {
			return nil, nothingThere
		}
		list[i] = v
		return list, ""
	}
	return c
}

// removal is what remove does.
var removal = change{
	whole: func() (json.RawMessage, string) { return nil, "the whole payload cannot be removed" },
	inObject: func(list []member, name string) ([]member, string) {
		i := find(list, name)
		if i < 0 {
			return nil, nothingThere
		}
		return slices.Delete(list, i, i+1), ""
	},
	inArray: func(list []json.RawMessage, i int) ([]json.RawMessage, string) {
		if i == len(list) {
			return nil, nothingThere
		}
		return slices.Delete(list, i, i+1), ""
	},
}

// edit carries out a change at a place of a document.
func edit(doc json.RawMessage, path []string, c change) (json.RawMessage, string) {
	out, fault := editAt(doc, path, c)
	if fault == nothingThere {
		fault += shown(join(path))
	}
	return out, fault
}

// editAt carries out a change below a value. It writes every object and array on the way anew and leaves all others
// byte for byte.
func editAt(doc json.RawMessage, path []string, c change) (json.RawMessage, string) {
	if len(path) == 0 {
		return c.whole()
	}
	last := len(path) == 1
	switch kindOf(doc) {
	case '{':
		list := members(doc)
		if last {
			list, fault := c.inObject(list, path[0])
			return objectOf(list), fault
		}
		i := find(list, path[0])
		if i < 0 {
			return nil, nothingThere
		}
		value, fault := editAt(list[i].value, path[1:], c)
		list[i].value = value
		return objectOf(list), fault
	case '[':
		list := elements(doc)
		i, ok := index(path[0], len(list))
		if !ok || !last && i == len(list) {
			return nil, nothingThere
		}
		if last {
			list, fault := c.inArray(list, i)
			return arrayOf(list), fault
		}
		value, fault := editAt(list[i], path[1:], c)
		list[i] = value
		return arrayOf(list), fault
	}
	return nil, nothingThere
}

// lookUp returns the value at a place.
func lookUp(doc json.RawMessage, path []string) (json.RawMessage, string) {
	for _, part := range path {
		switch kindOf(doc) {
		case '{':
			list := members(doc)
			i := find(list, part)
			if i < 0 {
				return nil, nothingThere + shown(join(path))
			}
			doc = list[i].value
		case '[':
			list := elements(doc)
			i, ok := index(part, len(list))
			if !ok || i == len(list) {
				return nil, nothingThere + shown(join(path))
			}
			doc = list[i]
		default:
			return nil, nothingThere + shown(join(path))
		}
	}
	return doc, ""
}

// join writes the parts of a path as a JSON pointer.
func join(path []string) string {
	var b strings.Builder
	for _, part := range path {
		b.WriteByte('/')
		b.WriteString(escape(part))
	}
	return b.String()
}

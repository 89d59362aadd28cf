package deadletter

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/envelope"
)

// A patch works on the bytes of a document: values that it does not name stay as they are, with every digit, and
// members keep their order.

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// kindOf returns the first byte of a value: { [ " or of a number or word.
func kindOf(doc []byte) byte {
	if doc = bytes.TrimSpace(doc); len(doc) > 0 {
		return doc[0]
	}
	return 0
}

// members returns the members of a valid object.
func members(doc []byte) []member {
	d := json.NewDecoder(bytes.NewReader(doc))
	var list []member
	_, _ = d.Token() // the document is valid
	for d.More() {
		name, _ := d.Token()
		var m member
		m.name, _ = name.(string)
		if d.Decode(&m.value) != nil {
			break
		}
		list = append(list, m)
	}
	return list
}

// elements returns the elements of a valid array.
func elements(doc []byte) []json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(doc, &list) // the document is valid
	return list
}

// find returns the place of a member, -1 for none.
func find(list []member, name string) int {
	for i := len(list) - 1; i >= 0; i-- { // of members with one name readers take the last
		if list[i].name == name {
			return i
		}
	}
	return -1
}

// quote writes a string in JSON with the fewest escapes.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// objectOf writes an object with the members in their order.
func objectOf(list []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// arrayOf writes an array.
func arrayOf(list []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(rawBytes(list), []byte{','})...), ']')
}

// rawBytes returns the elements as byte slices, without copying them.
func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// equalJSON reports whether two valid documents have the same values.
func equalJSON(a, b []byte) bool { return bytes.Equal(canonicalJSON(a), canonicalJSON(b)) }

// mergePatch applies a merge patch (RFC 7396) to a valid document. null in the patch removes a member; anything but an
// object replaces the whole value.
func mergePatch(doc, patch []byte) json.RawMessage {
	if kindOf(patch) != '{' || envelope.Is(patch) { // an encoded value has no members
		return bytes.TrimSpace(patch)
	}
	var list []member
	if kindOf(doc) == '{' {
		list = members(doc)
	}
	for _, change := range members(patch) {
		i := find(list, change.name)
		switch {
		case string(change.value) == "null":
			for ; i >= 0; i = find(list, change.name) {
				list = append(list[:i], list[i+1:]...)
			}
		case i >= 0:
			list[i].value = mergePatch(list[i].value, change.value)
		default:
			list = append(list, member{change.name, mergePatch(nil, change.value)})
		}
	}
	return objectOf(list)
}

// split returns the parts of a JSON pointer, or false for what is none.
func split(pointer string) ([]string, bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		for j := 0; j < len(p); j++ {
			if p[j] == '~' && (j+1 == len(p) || p[j+1] != '0' && p[j+1] != '1') {
				return nil, false
			}
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts, true
}

// escape is the form of a name in a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// index reads an index of an array of n elements; - stands for the place behind the last one. ok is false for what is
// none, and beyond n.
func index(part string, n int) (i int, ok bool) {
	if part == "-" {
		return n, true
	}
	i, err := strconv.Atoi(part)
	return i, err == nil && strconv.Itoa(i) == part && 0 <= i && i <= n
}

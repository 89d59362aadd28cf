package deadletter_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

type node struct {
	leaf        string
	open, close string
	entries     []entry
}

// entry is a part; before separates it from the previous one.
type entry struct {
	before string
	key    string // index of spellings
	name   string
	value  *node
}

func (n *node) String() string {
	var b strings.Builder
	b.WriteString(n.leaf + n.open)
	for i, e := range n.entries {
		if i > 0 {
			b.WriteString(e.before)
		}
		b.WriteString(e.name + e.value.String())
	}
	return b.String() + n.close
}

// spellings are the ways to write a name; edits write the first, and pointers use it if it has no escapes.
var spellings = map[string][]string{
	"a": {`a`, `\u0061`}, "b": {`b`}, "": {``}, "a/b": {`a/b`, `a\/b`, `a\u002Fb`}, "~": {`~`, `\u007e`},
	"high": {`\ud800`, `\uD800`}, "low": {`\udc01`, `\uDC01`}, "é": {`é`, `\u00E9`, `\u00e9`}, "quote": {`\"`, `\u0022`},
	"0": {`0`}, "-": {`-`}, "rocket": {"\U0001F680", `\ud83d\ude80`, `\uD83D\uDE80`}, "nul": {`\u0000`},
}

var keys = slices.Sorted(func(yield func(string) bool) {
	for k := range spellings {
		if !yield(k) {
			return
		}
	}
})

func inPointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(spellings[key][0])
}

var (
	space  = rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n  "})
	leaves = rapid.SampledFrom([]string{`1`, `-0`, `1.10`, `1E+2`, `12345678901234567890123`, `1e400`, `-1e-9999`, `null`,
		`true`, `""`, `"a\/b"`, `"\ud800"`, `"\uD83D\uDE80"`, `"<&>\u003c"`, `"{\"a\":[1,"`, `"]}"`, `"\\"`, "\"\u2028\""})
)

func documents(t *rapid.T, depth int) *node {
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return &node{leaf: leaves.Draw(t, "leaf")}
	}
	n := &node{open: "[" + space.Draw(t, "space"), close: space.Draw(t, "space") + "]"}
	if kind == 2 {
		n.open, n.close = "{"+n.open[1:], strings.TrimSuffix(n.close, "]")+"}"
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		e := entry{before: space.Draw(t, "space") + "," + space.Draw(t, "space")}
		if kind == 2 {
			e.key = rapid.SampledFrom(keys).Draw(t, "key")
			e.name = `"` + rapid.SampledFrom(spellings[e.key]).Draw(t, "name") + `"` + space.Draw(t, "space") + ":" +
				space.Draw(t, "space")
		}
		e.value = documents(t, depth-1)
		n.entries = append(n.entries, e)
	}
	return n
}

// last returns the member that readers take, -1 for none.
func (n *node) last(key string) int {
	for i := len(n.entries) - 1; i >= 0; i-- {
		if n.entries[i].key == key {
			return i
		}
	}
	return -1
}

func (n *node) put(i int, value *node) {
	one := n.entries[i]
	var out []entry
	for k, e := range n.entries {
		switch {
		case k == i && value != nil:
			out = append(out, entry{one.before, one.key, one.name, value})
		case k == i || n.open[0] == '{' && e.key == one.key:
		default:
			out = append(out, e)
		}
	}
	n.entries = out
}

func (n *node) add(e entry) {
	if len(n.entries) == 0 {
		n.open, n.close = n.open[:1], n.open[1:]+n.close
	}
	n.entries = append(n.entries, e)
}

func (n *node) change(t *rapid.T, path string) string {
	if n.leaf != "" {
		return ""
	}
	object := n.open[0] == '{'
	if len(n.entries) > 0 && rapid.Bool().Draw(t, "deeper") {
		i := rapid.IntRange(0, len(n.entries)-1).Draw(t, "into")
		step := fmt.Sprintf("/%d", i)
		if object {
			key := n.entries[i].key
			i, step = n.last(key), inPointer(key)
		}
		return n.entries[i].value.change(t, path+step)
	}
	value := documents(t, 1)
	i := rapid.IntRange(0, len(n.entries)).Draw(t, "at")
	at, op := fmt.Sprintf("%s/%d", path, i), rapid.SampledFrom([]string{"add", "replace", "remove"}).Draw(t, "op")
	key := rapid.SampledFrom(keys).Draw(t, "name")
	if object && i < len(n.entries) {
		key = n.entries[i].key
	}
	if object {
		i, at = n.last(key), path+inPointer(key)
	}
	there := 0 <= i && i < len(n.entries)
	switch {
	case !there && op != "add":
		return ""
	case op == "remove":
		n.put(i, nil)
		return fmt.Sprintf(`{"op":"remove","path":"%s"}`, at)
	case there && (object || op == "replace"):
		n.put(i, value)
	case there:
		added := entry{before: n.entries[i].before, value: value}
		n.entries[i].before = ","
		n.entries = slices.Insert(n.entries, i, added)
	case object:
		n.add(entry{",", key, `"` + spellings[key][0] + `":`, value})
	default:
		n.add(entry{before: ",", value: value})
	}
	return fmt.Sprintf(`{"path": "%s", "op":"%s" ,"value": %s}`, at, op, value)
}

// Bytes that a JSON patch does not name stay.
func TestPatchTouchesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := documents(t, 4)
		around := space.Draw(t, "space")
		before := around + n.String() + around
		var ops []string
		for range rapid.IntRange(1, 4).Draw(t, "ops") {
			if op := n.change(t, ""); op != "" {
				ops = append(ops, op)
			}
		}
		checkEdit(t, before, "["+strings.Join(ops, ", ")+"]", around+n.String()+around)
	})
}

func (n *node) merge(t *rapid.T) string {
	key := rapid.SampledFrom(keys).Draw(t, "name")
	i := n.last(key)
	name := `{"` + rapid.SampledFrom(spellings[key]).Draw(t, "spelling") + `" : `
	if i >= 0 && strings.HasPrefix(n.entries[i].value.open, "{") && rapid.Bool().Draw(t, "deeper") {
		inner := n.entries[i].value
		patch := inner.merge(t)
		n.put(i, inner)
		return name + patch + "}"
	}
	value := &node{leaf: leaves.Draw(t, "leaf")}
	switch {
	case value.leaf == "null" && i >= 0:
		n.put(i, nil)
	case value.leaf == "null":
	case i >= 0:
		n.put(i, value)
	default:
		n.add(entry{",", key, `"` + spellings[key][0] + `":`, value})
	}
	return name + value.leaf + "}"
}

func TestMergePatchTouchesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := documents(t, 4)
		if !strings.HasPrefix(n.open, "{") {
			t.Skip("not an object")
		}
		before := n.String()
		checkEdit(t, before, n.merge(t), n.String())
	})
}

func checkEdit(t *rapid.T, before, patch, want string) {
	e := deadletter.Edit{Patch: []byte(patch)}
	if p := e.Validate(); len(p) > 0 {
		t.Fatalf("%s: %v", patch, p)
	}
	in := deadletter.Content{Key: []byte{}, Payload: []byte(before), Headers: []deadletter.Header{{Name: "x"}}}
	got, err := e.Apply(in)
	if err != nil || string(got.Payload) != want || string(in.Payload) != before {
		t.Fatalf("%s\nwith %s is\n%s, want\n%s (%v)", before, patch, got.Payload, want, err)
	}
	if !reflect.DeepEqual(got.Headers, in.Headers) || got.Key == nil {
		t.Fatalf("%s changed key or headers: %+v", patch, got)
	}
}

func TestHeaderEditTouchesNothingElse(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"a", "A", "b", "c", "é", "d e"})
	header := rapid.Custom(func(t *rapid.T) deadletter.Header {
		h := deadletter.Header{Name: names.Draw(t, "name")}
		if rapid.Bool().Draw(t, "value") {
			h.Value = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")...)
		}
		return h
	})
	rapid.Check(t, func(t *rapid.T) {
		in := deadletter.Content{Headers: rapid.SliceOfN(header, 0, 8).Draw(t, "headers"),
			Payload: rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "payload")}
		e := deadletter.Edit{SetHeaders: rapid.SliceOfN(header, 0, 3).Draw(t, "set"),
			DropHeaders: rapid.SliceOfN(names, 0, 2).Draw(t, "drop")}
		if len(e.Validate()) > 0 {
			t.Skip("changes nothing, or sets what it drops")
		}
		named := func(h deadletter.Header) bool {
			is := func(o deadletter.Header) bool { return o.Name == h.Name }
			return slices.ContainsFunc(e.SetHeaders, is) || slices.Contains(e.DropHeaders, h.Name)
		}
		got, err := e.Apply(in)
		if err != nil || !reflect.DeepEqual(got.Payload, in.Payload) {
			t.Fatal(err, got.Payload)
		}
		others := func(list []deadletter.Header) []deadletter.Header {
			return slices.DeleteFunc(slices.Clone(list), named)
		}
		set := func(list []deadletter.Header, name string) []deadletter.Header {
			return slices.DeleteFunc(slices.Clone(list), func(h deadletter.Header) bool { return h.Name != name })
		}
		if a, b := others(in.Headers), others(got.Headers); len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v became %+v with %+v", a, b, e)
		}
		for _, h := range e.SetHeaders {
			if a, b := set(e.SetHeaders, h.Name), set(got.Headers, h.Name); !reflect.DeepEqual(a, b) {
				t.Fatalf("%+v was set, and is %+v", a, b)
			}
		}
	})
}

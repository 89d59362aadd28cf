package deadletter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	const doc = `{"z": 12345678901234567890.10, "a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9"}`
	for _, c := range []struct{ patch, want string }{
		{`[]`, doc}, {`{}`, doc},
		{`[{"op":"replace","path":"/a/b~1c/1","value":1e400}]`,
			`{"z": 12345678901234567890.10, "a": {"b/c": [1, 1e400, 3], "~": null}, "é": "\u00e9"}`},
		{`[{"op":"add","path":"/a/b~1c/0","value":0},{"op":"add","path":"/a/b~1c/-","value":4}]`,
			`{"z": 12345678901234567890.10, "a": {"b/c": [0,1, 2, 3,4], "~": null}, "é": "\u00e9"}`},
		{`[{"op":"add","path":"/a/~0","value":null},{"op":"remove","path":"/z"}]`,
			`{"a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9"}`},
		{`[{"op":"move","from":"/a/b~1c/0","path":"/first"},{"op":"copy","from":"/z","path":"/a"}]`,
			`{"z": 12345678901234567890.10, "a": 12345678901234567890.10, "é": "\u00e9","first":1}`},
		{`[{"op":"test","path":"/z","value":1.234567890123456789010e19},{"op":"replace","path":"","value":[]}]`, `[]`},
		{`[{"op":"test","path":"/é","value":"é"},{"op":"move","from":"/z","path":"/z"}]`, doc},
		{`[{"op":"test","path":"/a/~0","value":null},{"op":"add","path":"/","value":1},{"op":"remove","path":"/a"}]`,
			`{"z": 12345678901234567890.10, "é": "\u00e9","":1}`},
		{`{"a":{"~":null,"b/c":null,"new":{"x":null,"y":9007199254740993}},"é":null,"none":null}`,
			`{"z": 12345678901234567890.10, "a": {"new":{"y":9007199254740993}}}`},
		{`[{"value":7,"op":"add","path":"/z"}]`, `{"z": 7, "a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9"}`},
		{`[{"op":"replace","path":"/z","value":7}]`, `{"z": 7, "a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9"}`},
		{`[{"op":"add","path":"/a/b~1c/3","value":4}]`,
			`{"z": 12345678901234567890.10, "a": {"b/c": [1, 2, 3,4], "~": null}, "é": "\u00e9"}`},
		{`{"z":7}`, `{"z": 7, "a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9"}`},
		{`{"a":[null]}`, `{"z": 12345678901234567890.10, "a": [null], "é": "\u00e9"}`},
		{`{"z":1,"z":8,"x":{"y":1},"x":[]}`, `{"z": 8, "a": {"b/c": [1, 2, 3], "~": null}, "é": "\u00e9","x":[]}`},
	} {
		e := deadletter.Edit{Patch: []byte(c.patch)}
		if p := e.Validate(); len(p) > 0 {
			t.Errorf("%s: %v", c.patch, p)
		}
		content := deadletter.Content{Payload: []byte(doc)}
		got, err := e.Apply(content)
		if err != nil || string(got.Payload) != c.want {
			t.Errorf("%s gives\n%s, want\n%s (%v)", c.patch, got.Payload, c.want, err)
		}
		if string(content.Payload) != doc {
			t.Fatalf("%s changed the original to %s", c.patch, content.Payload)
		}
	}
}

// Among members of one name readers take the last. An edit leaves one or none, never a hidden one.
func TestApplyToRepeatedMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, patch, want string }{
		{`{"a":1,"a":2,"b":3}`, `[{"op":"remove","path":"/a"}]`, `{"b":3}`},
		{`{"a":1,"a":2}`, `[{"op":"move","from":"/a","path":"/c"}]`, `{"c":2}`},
		{`{"a":1,"a":2,"c":4,"c":5}`, `[{"op":"move","from":"/a","path":"/c"}]`, `{"c":2}`},
		{`{"a":1,"a":2,"b":3}`, `[{"op":"replace","path":"/a","value":9}]`, `{"a":9,"b":3}`},
		{`{"a":1,"b":3,"\u0061":2}`, `[{"op":"add","path":"/a","value":9}]`, `{"b":3,"\u0061":9}`},
		{`{"a":1,"a":2,"b":3}`, `[{"op":"copy","from":"/a","path":"/c"}]`, `{"a":1,"a":2,"b":3,"c":2}`},
		{`{"a":{"x":1},"a":{"x":2,"x":3}}`, `[{"op":"replace","path":"/a/x","value":9}]`, `{"a":{"x":1},"a":{"x":9}}`},
		{`{"a":1,"a":2,"b":3}`, `{"a":null}`, `{"b":3}`},
		{`{"a":1,"a":2,"b":3}`, `{"a":9}`, `{"a":9,"b":3}`},
		{` { "a" : 1 , "b" : 3 , "a" : {"x":1} } `, `{"a":{"y":2}}`, ` { "b" : 3 , "a" : {"x":1,"y":2} } `},
	} {
		patched(t, c.doc, c.patch, c.want)
	}
}

func TestApplyKeepsEscapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, patch, want string }{
		{`{"\ud800":1,"\ud801":2,"b":3}`, `[{"op":"remove","path":"/b"}]`, `{"\ud800":1,"\ud801":2}`},
		{`{"\ud800":1,"\uD801":2,"\ufffd":3}`, `[{"op":"remove","path":"/\uD800"}]`, `{"\uD801":2,"\ufffd":3}`},
		{`{"\ud800":1,"\ud801":2}`, `{"\ud801":null,"\ud802":3}`, `{"\ud800":1,"\ud802":3}`},
		{`{"a\/b":1,"b":3}`, `[{"op":"remove","path":"/b"}]`, `{"a\/b":1}`},
		{`{"a\/b":1,"b":3}`, `[{"op":"remove","path":"/a~1b"}]`, `{"b":3}`},
		{`{"\"\\\n":1}`, `[{"op":"copy","from":"/\u0022\\\u000a","path":"/\""}]`, `{"\"\\\n":1,"\"":1}`},
		{`["\ud800"]`, `[{"op":"test","path":"/0","value":"\uD800"}]`, `["\ud800"]`},
		{`["\ud800"]`, `[{"op":"test","path":"/0","value":"\ud801"}]`, ""},
		{`{"n":9007199254740993}`, `[{"op":"test","path":"/n","value":9007199254740992}]`, ""},
	} {
		patched(t, c.doc, c.patch, c.want)
	}
}

func patched(t *testing.T, doc, patch, want string) {
	t.Helper()
	e := deadletter.Edit{Patch: []byte(patch)}
	if p := e.Validate(); len(p) > 0 {
		t.Errorf("%s: %v", patch, p)
	}
	got, err := e.Apply(deadletter.Content{Payload: []byte(doc)})
	if string(got.Payload) != want || (err == nil) != (want != "") {
		t.Errorf("%s with %s is\n%s, want\n%s (%v)", doc, patch, got.Payload, want, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	const doc = `{"a":{"b":[1,2]},"s":"text"}`
	for _, c := range []struct{ payload, patch, want string }{
		{doc, `[{"op":"replace","path":"/s","value":1},{"op":"remove","path":"/x"}]`, "/patch/1: there is no value at /x"},
		{doc, `[{"op":"replace","path":"/a/c","value":1}]`, "/patch/0: there is no value at /a/c"},
		{doc, `[{"op":"replace","path":"/a/b/2","value":1}]`, "no value at /a/b/2"},
		{doc, `[{"op":"replace","path":"/a/b/-","value":1}]`, "no value at /a/b/-"},
		{doc, `[{"op":"remove","path":"/a/b/2"}]`, "no value at /a/b/2"},
		{doc, `[{"op":"add","path":"/a/b/3","value":1}]`, "no value at /a/b/3"},
		{doc, `[{"op":"add","path":"/a/b/01","value":1}]`, "no value at /a/b/01"},
		{doc, `[{"op":"add","path":"/a/b/+1","value":1}]`, "no value at /a/b/+1"},
		{doc, `[{"op":"add","path":"/s/x","value":1}]`, "no value at /s/x"},
		{doc, `[{"op":"add","path":"/x/y","value":1}]`, "no value at /x/y"},
		{doc, `[{"op":"copy","from":"/x","path":"/y"}]`, "no value at /x"},
		{doc, `[{"op":"move","from":"/a/b/9","path":"/y"}]`, "no value at /a/b/9"},
		{doc, `[{"op":"move","from":"/a","path":"/a/c"}]`, "cannot be moved into itself"},
		{doc, `[{"op":"remove","path":""}]`, "cannot be removed"},
		{doc, `[{"op":"test","path":"/s","value":"other"}]`, "the test fails"},
		{doc, `[{"op":"test","path":"/s/0","value":"other"}]`, "no value at /s/0"},
		{`not JSON`, `{}`, "/patch: the payload is not valid JSON"},
		{``, `{}`, "the payload is empty"},
		{"\xff", `{}`, "not valid UTF-8"},
		{`"deep"`, `[{"op":"add","path":"","value":` + strings.Repeat("[", 199) + strings.Repeat("]", 199) +
			`},{"op":"copy","from":"","path":"` + strings.Repeat("/0", 198) + `/-"}]`, "nests deeper"},
	} {
		e := deadletter.Edit{Patch: []byte(c.patch)}
		got, err := e.Apply(deadletter.Content{Payload: []byte(c.payload)})
		if task.CodeOf(err) != task.Invalid || !strings.Contains(err.Error(), c.want) || got.Payload != nil {
			t.Errorf("%s of %s: %v, want %q", c.patch, c.payload, err, c.want)
		}
	}
}

func TestApplyIsBounded(t *testing.T) {
	t.Parallel()
	ops := make([]string, 0, 40)
	for range 40 {
		ops = append(ops, `{"op":"copy","from":"","path":"/0"}`)
	}
	e := deadletter.Edit{Patch: []byte("[" + strings.Join(ops, ",") + "]")}
	doc := `["` + strings.Repeat("x", 1<<16) + `"]`
	if _, err := e.Apply(deadletter.Content{Payload: []byte(doc)}); err == nil || !strings.Contains(err.Error(),
		"larger than") {
		t.Errorf("it grew: %v", err)
	}
	if testing.Short() {
		return // the largest documents take seconds under the race detector
	}
	for _, more := range []int{0, 1} {
		doc := `{"a":"` + strings.Repeat("x", deadletter.MaxPayload-len(`{"a":"","b":1}`)+more) + `"}`
		e := deadletter.Edit{Patch: []byte(`[{"op":"add","path":"/b","value":1}]`)}
		if got, err := e.Apply(deadletter.Content{Payload: []byte(doc)}); (more == 0) != (err == nil) {
			t.Errorf("%d bytes grew to %d: %v", len(doc), len(got.Payload), err)
		}
	}
	for _, more := range []int{0, 1} {
		doc := `"` + strings.Repeat("x", deadletter.MaxPayload-2+more) + `"`
		e := deadletter.Edit{Patch: []byte(`[{"op":"replace","path":"","value":1},{"op":"test","path":"","value":1}]`)}
		got, err := e.Apply(deadletter.Content{Payload: []byte(doc)})
		if (more == 0) != (err == nil && string(got.Payload) == "1") {
			t.Errorf("%d bytes: %v", len(doc), err)
		}
	}
}

func TestApplyHeadersAndKey(t *testing.T) {
	t.Parallel()
	h := func(pairs ...string) (list []deadletter.Header) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, deadletter.Header{Name: pairs[i], Value: []byte(pairs[i+1])})
		}
		return list
	}
	e := deadletter.Edit{SetHeaders: h("b", "x", "b", "y", "new", "z"), DropHeaders: []string{"c", "none"},
		Key: []byte("k")}
	in := deadletter.Content{Headers: h("a", "1", "b", "2", "c", "3", "b", "4", "d", "5"), Payload: []byte("\xff")}
	got, err := e.Apply(in)
	if want := h("a", "1", "b", "x", "b", "y", "d", "5", "new", "z"); err != nil ||
		fmt.Sprint(got.Headers) != fmt.Sprint(want) || string(got.Key) != "k" || string(got.Payload) != "\xff" {
		t.Errorf("%v, %v", got, err)
	}
	if len(in.Headers) != 5 || in.Key != nil {
		t.Errorf("the original is %v", in)
	}
	swap := deadletter.Edit{SetHeaders: h("new", "z"), DropHeaders: []string{"c"}}
	got, err = swap.Apply(in)
	if want := h("a", "1", "b", "2", "b", "4", "d", "5", "new", "z"); err != nil || len(swap.Validate()) > 0 ||
		fmt.Sprint(got.Headers) != fmt.Sprint(want) {
		t.Errorf("one for another: %v, %v, %v", got.Headers, err, swap.Validate())
	}
	if got, _ := (&deadletter.Edit{Key: []byte{}}).Apply(in); got.Key == nil || len(got.Key) != 0 ||
		fmt.Sprint(got.Headers) != fmt.Sprint(in.Headers) {
		t.Errorf("with an empty key: %v", got)
	}
}

func TestEditValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for want, e := range map[string]deadletter.Edit{
		": changes nothing":           {},
		"/patch: is not valid JSON":   {Patch: []byte(`{`)},
		"/patch: must be a JSON":      {Patch: []byte(`5`)},
		"/patch/0: must be an object": {Patch: []byte(`[null]`)},
		"/patch/0: must be an obj":    {Patch: []byte(`[5]`)},
		"/patch/0/path: must be a s":  {Patch: []byte(`[{"op":"remove","path":5}]`)},
		"/patch/0/OP: must be writ":   {Patch: []byte(`[{"OP":"remove","op":"remove","path":"/a"}]`)},
		"/patch/0/Value: must be wri": {Patch: []byte(`[{"op":"add","Value":1,"path":"/a"}]`)},
		"/patch/0/path: appears tw":   {Patch: []byte(`[{"op":"remove","path":"/a","p\u0061th":"/a"}]`)},
		"/patch/0/op: must be one of": {Patch: []byte(`[{"path":""}]`)},
		"/patch/0/path: is missing":   {Patch: []byte(`[{"op":"remove"}]`)},
		"/patch/0/path: is not":       {Patch: []byte(`[{"op":"remove","path":"a"}]`)},
		"/patch/1/from: is missing":   {Patch: []byte(`[{"op":"remove","path":"/a"},{"op":"move","path":"/a"}]`)},
		"/patch/0/path: is not a J":   {Patch: []byte(`[{"op":"remove","path":"/a~"}]`)},
		"/patch/0/path: is not a":     {Patch: []byte(`[{"op":"remove","path":"/a~2"}]`)},
		"/patch/0/value: is missing":  {Patch: []byte(`[{"op":"test","path":"/a"}]`)},
		"/patch: has 101 entries": {Patch: []byte("[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 100) +
			`{"op":"remove","path":"/a"}]`)},
		"/patch: is 262145 bytes":           {Patch: []byte(strings.Repeat(" ", 256<<10) + "1")},
		"/set_headers/0/name: must not":     {SetHeaders: []deadletter.Header{{}}},
		"/set_headers/0/name: is 256":       {SetHeaders: []deadletter.Header{{Name: long}}},
		"/set_headers/0/name: contains":     {SetHeaders: []deadletter.Header{{Name: "a\n"}}},
		"/set_headers/0/value: has 32769":   {SetHeaders: []deadletter.Header{{Name: "a", Value: make([]byte, 32769)}}},
		"/set_headers/0/name: is in":        {SetHeaders: []deadletter.Header{{Name: "a"}}, DropHeaders: []string{"a"}},
		"/drop_headers/0: must not":         {DropHeaders: []string{""}},
		"/drop_headers: has 101 entries":    {DropHeaders: make([]string, 101)},
		"/key: has 32769 entries":           {Key: make([]byte, 32769)},
		"/patch: nests deeper than 200 lev": {Patch: []byte(strings.Repeat("[", 201) + strings.Repeat("]", 201))},
	} {
		expect(t, e.Validate(), want)
	}
	good := deadletter.Edit{Patch: []byte(`{}`), SetHeaders: []deadletter.Header{{Name: "a", Value: make([]byte, 32768)}},
		DropHeaders: []string{"b"}, Key: make([]byte, 32768)}
	expect(t, good.Validate(), "")
}

func expect(t *testing.T, list []task.Problem, want string) {
	t.Helper()
	var got []string
	for _, p := range list {
		got = append(got, p.Location+": "+p.Message)
	}
	if want == "" && len(got) > 0 {
		t.Errorf("%q, want none", got)
	}
	for _, g := range got {
		if strings.HasPrefix(g, want) {
			return
		}
	}
	if want != "" {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"move","from":"/a/1","path":"/c"}]`))
	f.Add([]byte(`{"a":1}`), []byte(`{"a":null,"b":{"c":null}}`))
	f.Fuzz(func(t *testing.T, payload, patch []byte) {
		e := deadletter.Edit{Patch: patch}
		if len(e.Validate()) > 0 {
			return
		}
		before := string(payload)
		got, err := e.Apply(deadletter.Content{Payload: payload})
		if string(payload) != before {
			t.Fatalf("%s changed the payload to %s", patch, payload)
		}
		if err != nil {
			if task.CodeOf(err) != task.Invalid {
				t.Fatal(err)
			}
			return
		}
		if fault := task.JSONFault(got.Payload, len(got.Payload)); fault != "" {
			t.Fatalf("%q with %q is %q, and %s", payload, patch, got.Payload, fault)
		}
		deadletter.Diff(deadletter.Content{Payload: payload}, got)
	})
}

package sensitive_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

func parsed(t testing.TB, pointers ...string) *sensitive.Set {
	t.Helper()
	set, err := sensitive.Parse(pointers)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pointers  []string
		doc, want string
	}{
		"Member":        {[]string{"/card"}, `{"card":"4111","n":12345678901234567890}`, `{"card":"[masked]","n":12345678901234567890}`},
		"Object":        {[]string{"/a"}, ` { "a" : {"b":[1]} , "c":1} `, ` { "a" : "[masked]" , "c":1} `},
		"EveryElement":  {[]string{"/list/*/pin"}, `{"list":[{"pin":1},{"pin":2,"x":3}]}`, `{"list":[{"pin":"[masked]"},{"pin":"[masked]","x":3}]}`},
		"EveryMember":   {[]string{"/*/pin"}, `{"a":{"pin":1},"b":{"pin":2}}`, `{"a":{"pin":"[masked]"},"b":{"pin":"[masked]"}}`},
		"Index":         {[]string{"/1"}, `[1,2,3]`, `[1,"[masked]",3]`},
		"Duplicates":    {[]string{"/a"}, `{"a":1,"a":2}`, `{"a":"[masked]","a":"[masked]"}`},
		"Escapes":       {[]string{"/a~1b/~0"}, `{"a/b":{"~":1}}`, `{"a/b":{"~":"[masked]"}}`},
		"EscapedName":   {[]string{"/card"}, `{"\u0063ard":1}`, `{"\u0063ard":"[masked]"}`},
		"Whole":         {[]string{""}, `{"a":1}`, `"[masked]"`},
		"TextOfJSON":    {[]string{"/a/b"}, `{"a":"{\"b\":1}"}`, `{"a":"[masked]"}`},
		"TextAtRoot":    {[]string{"/a"}, `"{\"a\":1}"`, `"[masked]"`},
		"NotJSON":       {[]string{"/a"}, `a=1`, `"[masked]"`},
		"Deeper":        {[]string{"/a"}, `{"b":{"a":1}}`, `{"b":{"a":1}}`},
		"Null":          {[]string{"/a"}, `{"a":null}`, `{"a":null}`},
		"Nothing":       {nil, `{"a":1}`, `{"a":1}`},
		"BracketInText": {[]string{"/b"}, `{"a":"}]\"","b":1}`, `{"a":"}]\"","b":"[masked]"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, masked := parsed(t, c.pointers...).Document([]byte(c.doc))
			if string(got) != c.want || masked != (c.doc != c.want) {
				t.Errorf("%s is %s, %v; want %s", c.doc, got, masked, c.want)
			}
		})
	}
}

func TestAnywhere(t *testing.T) {
	t.Parallel()
	set := parsed(t, "/card/number", "/pins/0")
	for doc, want := range map[string]string{
		`{"echo":{"card":{"number":1,"x":2}}}`:   `{"echo":{"card":{"number":"[masked]","x":2}}}`,
		`[[{"card":{"number":1}}]]`:              `[[{"card":{"number":"[masked]"}}]]`,
		`{"say":"text","card":"{\"number\":1}"}`: `{"say":"text","card":"[masked]"}`,
		`[{"op":"add","path":"/card/number","value":1},{"op":"add","path":"/x","value":1}]`: `[{"op":"add",` +
			`"path":"/card/number","value":"[masked]"},{"op":"add","path":"/x","value":1}]`,
		`[{"op":"add","path":"/card","value":{"number":1}}]`:    `[{"op":"add","path":"/card","value":{"number":"[masked]"}}]`,
		`[{"op":"add","path":"/card/number/a","value":1}]`:      `[{"op":"add","path":"/card/number/a","value":"[masked]"}]`,
		`[{"op":"add","path":"/pins/-","value":1}]`:             `[{"op":"add","path":"/pins/-","value":"[masked]"}]`,
		`[{"op":"remove","path":"/card/number"},{"path":"/y"}]`: `[{"op":"remove","path":"/card/number"},{"path":"/y"}]`,
	} {
		if got, _ := set.Anywhere([]byte(doc)); string(got) != want {
			t.Errorf("%s is %s, want %s", doc, got, want)
		}
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	set := parsed(t, "/card", "/list/*/pin")
	for doc, want := range map[string][]string{
		`{"card":"[masked]","list":[{"pin":1},{"pin":"[masked]"}],"x":"[masked]"}`: {"/card", "/list/1/pin"},
		`{"card":"4111"}`:          nil,
		`{"x":"[masked]"}`:         nil,
		`{"list":"[masked]"}`:      {"/list"},
		`{"card":"[\u006dasked]"}`: {"/card"},
	} {
		if got := set.Held([]byte(doc)); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", doc, got, want)
		}
	}
	patch := `[{"op":"add","path":"/x","value":"[masked]"},{"op":"add","path":"/list/-","value":{"pin":"[masked]"}},` +
		`{"op":"replace","path":"/card","value":"[masked]"}]`
	if got := set.HeldPatch([]byte(patch)); !slices.Equal(got, []string{"/list/-/pin", "/card"}) {
		t.Errorf("the patch holds %q", got)
	}
	if got := set.HeldAnywhere([]byte(`{"echo":{"card":"[masked]"}}`)); !slices.Equal(got, []string{"/echo/card"}) {
		t.Errorf("the result holds %q", got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	many := make([]string, sensitive.MaxPointers+1)
	for pointer, want := range map[string]string{
		"": "", "/a/*/b": "", "/a~0~1": "", "a": "begins with /", "/~2": "before 0 or 1", "/~": "before 0 or 1",
		"/" + strings.Repeat("a", sensitive.MaxBytes): "bytes", "/a\n": "control", "/\u202e": "control", "/\xff": "UTF-8",
		strings.Repeat("/a", sensitive.MaxSegments+1): "segments",
	} {
		faults := sensitive.Check([]string{pointer})
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Message, want)) {
			t.Errorf("%q: %v, want %q", pointer, faults, want)
		}
	}
	if faults := sensitive.Check(many); len(faults) != 1 || faults[0].Index != -1 {
		t.Errorf("too many pointers: %v", faults)
	}
}

// TestDeep: nesting of any depth is masked without a crash, and nothing beyond the bound is shown.
func TestDeep(t *testing.T) {
	t.Parallel()
	const depth = 9000 // the limit of encoding/json is 10,000
	doc := strings.Repeat(`{"a":`, depth) + `"secret"` + strings.Repeat("}", depth)
	if got, _ := parsed(t, "/b").Document([]byte(doc)); string(got) != doc {
		t.Error("what no pointer selects has changed")
	}
	if got, _ := parsed(t, "/b").Anywhere([]byte(doc)); bytes.Contains(got, []byte("secret")) {
		t.Error("what is too deep to look into is shown")
	}
}

// TestMasking: no selected value survives, and everything else keeps its value. The model works on decoded values.
func TestMasking(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.SampledFrom([]string{"a", "b", "0", "1", "*"})
		pointers := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(segment, 1, 3), func(s []string) string {
			return "/" + strings.Join(s, "/")
		}), 1, 4).Draw(t, "pointers")
		doc, err := json.Marshal(value(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		set, err := sensitive.Parse(pointers)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := set.Document(doc)
		if want := encoded(t, model(decoded(t, doc), paths(pointers))); !bytes.Equal(encoded(t, decoded(t, got)), want) {
			t.Fatalf("%s with %q is %s, want %s", doc, pointers, got, want)
		}
		if again, masked := set.Document(got); masked || !bytes.Equal(again, got) {
			t.Fatalf("masked twice: %s", again)
		}
	})
}

func value(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return json.Number(rapid.StringMatching(`[1-9][0-9]{0,30}`).Draw(t, "number"))
	case 1:
		return rapid.SampledFrom([]string{"", "secret", `"]}`}).Draw(t, "text")
	case 2:
		return nil
	case 3:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = value(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "0"}), 0, 3).Draw(t, "names") {
		object[name] = value(t, depth-1)
	}
	return object
}

func paths(pointers []string) [][]string {
	var out [][]string
	for _, p := range pointers {
		out = append(out, strings.Split(p[1:], "/"))
	}
	return out
}

func model(v any, left [][]string) any {
	_, isText := v.(string)
	for _, path := range left {
		if v != nil && (len(path) == 0 || isText) {
			return sensitive.Mask
		}
	}
	below := func(name string) (out [][]string) {
		for _, path := range left {
			if len(path) > 0 && (path[0] == name || path[0] == "*") {
				out = append(out, path[1:])
			}
		}
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = model(v[name], below(name))
		}
	case []any:
		for i := range v {
			v[i] = model(v[i], below(strconv.Itoa(i)))
		}
	}
	return v
}

func decoded(t *rapid.T, doc []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func encoded(t *rapid.T, v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzMask: any bytes and pointers are masked without a crash, to JSON if they were JSON or something is hidden.
func FuzzMask(f *testing.F) {
	f.Add(`{"a":[{"op":"add","path":"/a","value":"x"}]}`, "/a\x00/*/value")
	f.Add(`{"a":"\ud800\"}"}`, "/a")
	f.Add("not json", "")
	f.Fuzz(func(t *testing.T, doc, list string) {
		set, err := sensitive.Parse(strings.Split(list, "\x00"))
		if err != nil {
			t.Skip()
		}
		for _, mask := range []func([]byte) ([]byte, bool){set.Document, set.Anywhere} {
			out, masked := mask([]byte(doc))
			if doc != "" && !json.Valid(out) || !masked && string(out) != doc {
				t.Fatalf("%q is %q, %v", doc, out, masked)
			}
			if again, twice := mask(out); twice || !bytes.Equal(again, out) {
				t.Fatalf("%q masked again is %q", out, again)
			}
		}
		set.Held([]byte(doc))
		set.HeldPatch([]byte(doc))
	})
}

package jsonstream_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/kit/jsonstream"
	"github.com/taskerhq/tasker/internal/model/task"
)

// verdict checks a document in parts of n bytes.
func verdict(doc string, n int) string {
	c := jsonstream.New(task.MaxDepth)
	for len(doc) > 0 {
		part := doc[:min(n, len(doc))]
		if _, err := c.Write([]byte(part)); err != nil {
			return err.Error()
		}
		doc = doc[len(part):]
	}
	if err := c.Close(); err != nil {
		return err.Error()
	}
	return ""
}

// agrees compares with the check of whole documents. Of several faults, they may name different ones.
func agrees(t interface {
	Helper()
	Fatalf(string, ...any)
}, doc string,
) {
	t.Helper()
	whole := task.JSONFault([]byte(doc), 1<<30)
	for _, n := range []int{1, 2, 3, 7, 1 << 20} {
		if got := verdict(doc, n); (got == "") != (whole == "") {
			t.Fatalf("%q in parts of %d: %q, as a whole: %q", doc, n, got, whole)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", task.MaxDepth)
	for _, doc := range []string{
		"", " ", "0", "-0", "01", "-", "1.", "1.5", "1.5e", "1e5", "1E+5", "1e-", "1e5.", ".5", "+1", "1 2", "1,", "[1,]",
		"[,1]", "[1 2]", "[]", "[[]]", "[}", "{]", "{}", `{"a":1}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`,
		`"`, `"a`, `"a"`, "\"\n\"", `"\n"`, `"\x"`, `"\u12`, `"\u12g4"`, `"\u00e4"`, `"ä"`, "\"\xff\"", "\"\xc3", "\xc3\"",
		"\"\xed\xa0\x80\"", "true", "tru", "truee", "false", "null", "nul", "nulll", "]", "}",
		`{"a":[1,{"b":null}],"c":"d"}`,
		" [ 1 , 2 ] ", "\ufeff1", deep + strings.Repeat("]", task.MaxDepth),
		"[" + deep + strings.Repeat("]", task.MaxDepth+1),
		`{"$tasker":"\ud800"}`, "[1]]", "{}{}", "\x00", "\"😀\"", "\"\xf0\x9f\x98",
	} {
		agrees(t, doc)
	}
}

func TestSameAsWhole(t *testing.T) {
	t.Parallel()
	words := []string{"{", "}", "[", "]", ",", ":", `"`, "a", `\`, "u", "0", "1", "-", "+", ".", "e", "true", "null", " ",
		"ä", "\xff", "\n", `"k":`, `"v"`, "12", "0.5e-3"}
	rapid.Check(t, func(t *rapid.T) {
		agrees(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "words"), ""))
	})
}

// FuzzSameAsWhole compares with encoding/json.
func FuzzSameAsWhole(f *testing.F) {
	raw, _ := json.Marshal(map[string]any{"a": []any{1.5, "b", nil, true}, "ä": map[string]any{}})
	f.Add(string(raw))
	f.Fuzz(func(t *testing.T, doc string) { agrees(t, doc) })
}

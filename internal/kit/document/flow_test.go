package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/kit/document"
)

func parse(t *testing.T, src string) *document.Node {
	t.Helper()
	return document.Parse([]byte(src), document.Options{
		What:   "the test",
		Limits: document.Limits{Marks: 10_000, Entries: 100, Depth: 8, Nodes: 1000, Merged: 10, Digits: 100},
		Report: func(at document.Position, message string) { t.Errorf("%q is refused at %v: %s", src, at, message) },
	})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	type entry struct {
		Name  string   `json:"name"`
		Tags  []string `json:"tags"`
		Empty []string `json:"empty,omitempty"`
	}
	for want, v := range map[string]any{
		"127.0.0.1:8080":                   "127.0.0.1:8080",
		":8080":                            ":8080",
		"'[::1]:80'":                       "[::1]:80",
		"7d":                               "7d",
		`"-1"`:                             "-1",
		`"1e5"`:                            "1e5",
		`"1_000"`:                          "1_000",
		`"12:30"`:                          "12:30",
		`"2001-01-01"`:                     "2001-01-01",
		`"yes"`:                            "yes",
		`"null"`:                           "null",
		`""`:                               "",
		`"\u0001"`:                         "\x01",
		`"a\nb"`:                           "a\nb",
		"'a: b'":                           "a: b",
		"'it''s #1'":                       "it's #1",
		"[]":                               []any{},
		"{}":                               map[string]any{},
		"null":                             nil,
		"2.5":                              2.5,
		"{name: a b, tags: [x, \"true\"]}": entry{Name: "a b", Tags: []string{"x", "true"}},
		"{a: [1, {b: true}], c: null}":     map[string]any{"c": nil, "a": []any{1, map[string]any{"b": true}}},
	} {
		if got, err := document.Flow(v); err != nil || got != want {
			t.Errorf("Flow(%#v) = %s, %v, want %s", v, got, err, want)
		}
	}
	if got, err := document.Flow(func() {}); err == nil {
		t.Errorf("a function is written as %s", got)
	}
}

// FuzzFlow: a string is the same after reading, in a list and as a key.
func FuzzFlow(f *testing.F) {
	for _, seed := range []string{
		"a", "", "-", "- a", "?", ":", "a:", "a #b", "#", "*x", "&x", "!x", "|", ">", "'", `"`, "%", "@", "`", "~", "1_0",
		"0x1", ".5", "..",
		"<<", "=", "---", "...", "{a}", "[a]", "a,b", "\t", "\u2028", "\ufeff", "ünï", ":8080", "::", "a: b", "?a", "-a", "dead-letters:read",
		"127.0.0.1:8080",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		value := []any{s, map[string]any{"k": s, "list": []any{s, s}}, []any{s}}
		line, err := document.Flow(value)
		if err != nil {
			t.Fatal(err)
		}
		want := document.NewText(s).Value()
		if got := parse(t, line); got != nil {
			// encoding/json writes bytes that are not UTF-8 as U+FFFD.
			if diff := cmp.Diff([]any{want, map[string]any{"k": want, "list": []any{want, want}},
				[]any{want}}, got.Value()); diff != "" && string([]rune(s)) == s {
				t.Errorf("%q is written as %s and read as another value (-want +got):\n%s", s, line, diff)
			}
		} else {
			t.Errorf("%q is written as %s, which is not read", s, line)
		}
	})
}

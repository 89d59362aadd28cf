package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/kit/document"
)

func TestNodesKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	for notation, src := range map[string]string{
		"YAML": "a: 0x10\nb:\n  - ü: 'x'\n  - 2.50\n",
		"JSON": "{\"a\": 16,\n \"b\": [\n{\"ü\": \"x\"}, 2.50]}",
	} {
		root := parse(t, src)
		want := map[string]any{"a": root.Get("a").Value(), "b": root.Get("b").Value()}
		if diff := cmp.Diff(want, root.Value()); diff != "" {
			t.Errorf("%s: values differ (-want +got):\n%s", notation, diff)
		}
		a, x, half := root.Get("a"), root.Follow("/b/0/ü"), root.Follow("/b/1")
		if a.Kind != document.Integer || a.Text != "16" || x.Text != "x" || !x.Quoted || half.Raw != "2.50" ||
			half.Text != "2.5" {
			t.Errorf("%s is read as %+v, %+v, %+v", notation, a, x, half)
		}
		at := fmt.Sprint(a.At, root.Pairs[1].At, x.At, half.At)
		if want := map[string]string{"YAML": "{1 4} {2 1} {3 8} {4 5}",
			"JSON": "{1 7} {2 2} {3 7} {3 13}"}[notation]; at != want {
			t.Errorf("%s: places are %s, want %s", notation, at, want)
		}
		if root.Size() != 6 {
			t.Errorf("%s: size is %d, want 6", notation, root.Size())
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := document.Limits{Marks: 100, Entries: 3, Depth: 4, Nodes: 30, Merged: 2, Digits: 5}
	for name, c := range map[string]struct{ good, bad, says string }{
		"Marks": {strings.Repeat("\n", 99) + "a", strings.Repeat("\n", 100) + "a: b",
			"1:1 the document has more than 100 lines"},
		"Entries": {"a: 1\nb: 1\nc: 1\n", "a: 1\nb: 1\nc: 1\nd: 1\n", "4:2 one list or mapping has more than 3 entries"},
		"Depth":   {"[[[1]]]", "[[[[[1]]]]]", "nest deeper than 4 levels"},
		"YAML":    {"- - - a", "- - - - - a", "nest deeper than 4 levels"},
		"Nodes":   {"[" + strings.Repeat("1,", 28) + "1]", "[" + strings.Repeat("1,", 30) + "1]", "more than 30 values"},
		"Aliases": {"[&a [1,1], *a]", "[&a [1,1,1,1,1], &b [*a,*a], [*b,*b]]",
			"more than 30 values, with its aliases expanded"},
		"Merged": {"a: &a {x: 1, y: 2}\nb: {<<: *a}\n", "a: &a {x: 1, y: 2, z: 3}\nb: {<<: *a}\n",
			"merge keys (<<) copy more than 2 entries"},
		"Digits": {"a: 12345", "a: 123456", "longer than 5 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(src string) (found []string) {
				document.Parse([]byte(src), document.Options{What: "the test", Limits: limits,
					Report: func(at document.Position, message string) {
						found = append(found, fmt.Sprintf("%d:%d %s", at.Line, at.Column, message))
					}})
				return found
			}
			if found := read(c.good); len(found) > 0 {
				t.Errorf("%q is refused: %q", c.good, found)
			}
			if found := read(c.bad); len(found) != 1 || !strings.Contains(found[0], c.says) {
				t.Errorf("%q is answered %q, want %q", c.bad, found, c.says)
			}
		})
	}
}

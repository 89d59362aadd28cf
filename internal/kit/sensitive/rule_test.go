package sensitive_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

// TestCovers: a rule covers another one if it hides at least as much.
func TestCovers(t *testing.T) {
	t.Parallel()
	rule := func(list string) (r sensitive.Rule) {
		for text := range strings.FieldsSeq(list) {
			switch {
			case text == "ALL":
				r.Pointers = append(r.Pointers, "")
			case text[0] == '/':
				r.Pointers = append(r.Pointers, text)
			default:
				r.Headers = append(r.Headers, text)
			}
		}
		return r
	}
	for _, c := range []struct {
		of, other string
		want      bool
	}{
		{"", "", true}, {"/a", "", true}, {"", "/a", false}, {"/a", "/a", true}, {"/a/b", "/a", false},
		{"/a", "/a/b/c", true}, {"/*", "/a", true}, {"/a", "/*", false}, {"/a /b", "/*", false}, {"/*/x", "/*/x", true},
		{"/a/*", "/*/x", false}, {"/a/0", "/a/-", false}, {"ALL", "/a /b/* x", false}, {"ALL x", "/a /b/* X", true},
		{"/a", "ALL", false}, {"/", "/", true}, {"/a/", "/a", false}, {"/a~1b", "/a/b", false}, {"/a~1b", "/a~1b/c", true},
		{"Authorization", "authorization", true}, {"x", "x y", false}, {"/a x", "/a", true},
	} {
		if got := rule(c.of).Covers(rule(c.other)); got != c.want {
			t.Errorf("%q covers %q: %t", c.of, c.other, got)
		}
	}
}

package pointer_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/pointer"
)

func TestMove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ at, from, to, want string }{
		{"/tasks/0/name", "/tasks/0", "", "/name"},
		{"/tasks/0", "/tasks/0", "", ""},
		{"/tasks/10/name", "/tasks/1", "/tasks/0", "/tasks/10/name"},
		{"/other", "/tasks/0", "", "/other"},
		{"/name", "", "/tasks/3", "/tasks/3/name"},
		{"", "", "/tasks/3", "/tasks/3"},
		{"limit", "", "/filter/", "/filter/limit"},
		{"/a/b", "/a", "/a", "/a/b"},
	} {
		if got := pointer.Move(tt.at, tt.from, tt.to); got != tt.want {
			t.Errorf("Move(%q, %q, %q) = %q, want %q", tt.at, tt.from, tt.to, got, tt.want)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for plain, escaped := range map[string]string{"name": "name", "a/b": "a~1b", "m~n": "m~0n", "~1": "~01", "": ""} {
		if got := pointer.Escape(plain); got != escaped {
			t.Errorf("Escape(%q) = %q, want %q", plain, got, escaped)
		}
		if got := pointer.Unescape(escaped); got != plain {
			t.Errorf("Unescape(%q) = %q, want %q", escaped, got, plain)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`1`, `-1.5e+3`, `true`, `null`, `""`, `"a\"]\\"`, `[]`, `[ "]" , {"}":[1]} ]`,
		`{"a" : "\ud800" }`, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)} {
		for _, behind := range []string{"", " ", ",1", "]", "}", "\n]"} {
			doc := []byte(" \t\r\n" + value + behind)
			from := pointer.Start(doc, 0)
			if to := pointer.End(doc, from); string(doc[from:to]) != value {
				t.Errorf("the value of %.40q is %.40q", doc, doc[from:to])
			}
		}
	}
	if at := pointer.Start([]byte("  "), 0); at != 2 {
		t.Errorf("the end of nothing is at %d", at)
	}
}

package pointer_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/pointer"
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

package wording_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/kit/wording"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 rules", 1: "1 rule", 2: "2 rules"} {
		if got := wording.Count(n, "rule"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "lisbon", "migrate"}
	for _, tt := range []struct {
		word   string
		within int
		want   string
	}{
		{"listen", 0, "listen"},
		{"lisen", 0, ""},
		{"lisen", 1, "listen"},   // one missing
		{"listenn", 1, "listen"}, // one too many
		{"lisxen", 1, "listen"},  // one wrong
		{"lisetn", 1, "listen"},  // two swapped
		{"lisbeen", 2, "listen"}, // the first of two that are 2 away
		{"mgirte", 1, ""},
		{"mgirte", 2, "migrate"},
		{"", 5, ""},
		{"", 6, "listen"},
	} {
		if got := wording.Nearest(tt.word, known, tt.within); got != tt.want {
			t.Errorf("Nearest(%q, %d) = %q, want %q", tt.word, tt.within, got, tt.want)
		}
	}
}

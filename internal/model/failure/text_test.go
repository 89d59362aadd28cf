package failure_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
)

func TestCut(t *testing.T) {
	t.Parallel()
	const mark = "…[truncated]"
	for _, c := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"Empty", "", 20, ""},
		{"Fits", strings.Repeat("x", 20), 20, strings.Repeat("x", 20)},
		{"TooLong", strings.Repeat("x", 21), 20, "xxxxxx" + mark},
		{"BetweenRunes", "xxxxää" + strings.Repeat("x", 20), 20, "xxxxä" + mark},
		{"InARune", "xxxxxää" + strings.Repeat("x", 20), 20, "xxxxx" + mark},
		{"InAWideRune", "xxx🚀" + strings.Repeat("x", 20), 20, "xxx" + mark},
		{"FirstRune", "🚀" + strings.Repeat("x", 20), 17, mark},
		{"OnlyTheMark", strings.Repeat("x", 20), 14, mark},
		{"NoUTF8", "x\xffy", 20, "x\uFFFDy"},
		{"NoUTF8IsLonger", strings.Repeat("\xffx", 10), 20, "\uFFFDx\uFFFDx"[:4] + mark},
	} {
		if got := failure.Cut(c.text, c.limit); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCutOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.IntRange(14, 100).Draw(t, "limit")
		got := failure.Cut(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%q has %d bytes of %d", got, len(got), limit)
		}
		if again := failure.Cut(got, limit); again != got {
			t.Fatalf("%q cut again is %q", got, again)
		}
	})
}

package task_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLogTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(0, 20).Draw(rt, "limit")
		anything := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[aä\U0001F600]{0,20}"), anything).Draw(rt, "text")
		got := task.LogTail(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			rt.Errorf("the tail %q of %q is longer than %d or no text", got, text, limit)
		}
		if utf8.ValidString(text) && !strings.Contains(text, "\x00") &&
			(!strings.HasSuffix(text, got) || len(text) > limit && len(got) < limit-utf8.UTFMax+1 ||
				len(text) <= limit && got != text) {
			rt.Errorf("the tail of %d bytes of %q is %q", limit, text, got)
		}
	})
}

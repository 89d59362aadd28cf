package failure

import (
	"strings"
	"unicode/utf8"
)

// cutMark ends a cut text and counts towards its limit.
const cutMark = "…[truncated]"

// Cut returns at most limit bytes of valid UTF-8 and marks a cut. limit must exceed the length of the mark. Text of
// a failure is evidence, so Cut never fails.
func Cut(s string, limit int) string {
	if !utf8.ValidString(s) { // much faster than ToValidUTF8, which most texts do not need
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= limit {
		return s
	}
	cut := limit - len(cutMark)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + cutMark
}

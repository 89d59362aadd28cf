package failure

import (
	"strings"
	"unicode/utf8"
)

// cutMark stands at the end of a text that was cut. It is part of the limit.
const cutMark = "…[truncated]"

// Cut returns a text of at most limit bytes, which must exceed the length of the mark: it cuts and marks a longer text,
// and replaces invalid UTF-8. The text of a failure is evidence, so it is never refused.
func Cut(s string, limit int) string {
	if !utf8.ValidString(s) { // many times faster than ToValidUTF8, which most texts do not need
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

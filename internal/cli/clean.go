package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The text of a task, a worker or a server may have any author. On a terminal a control character is a
// command, and a bidirectional override makes text read differently. So all output passes through here, and
// such characters are shown as escapes.

// hostile reports whether r must not reach a terminal as it is.
func hostile(r rune) bool {
	switch {
	case unicode.IsControl(r): // C0, DEL, C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true // bidirectional marks, embeddings, overrides, isolates
	case r == 0x2028 || r == 0x2029 || r == 0xfeff:
		return true // line and paragraph separators, byte order mark
	}
	return false
}

// clean makes s one harmless line. Control characters become escapes such as \n and \x1b.
func clean(s string) string { return cleanExcept(s, "") }

// cleanLines makes s harmless and keeps line breaks and tabs, for texts such as stack traces.
func cleanLines(s string) string { return cleanExcept(s, "\n\t") }

// cleanExcept escapes hostile characters and invalid UTF-8 in s, except the characters in keep.
// It returns s itself if there is nothing to escape, which is the common case.
func cleanExcept(s, keep string) string {
	ok := func(r rune) bool { return r != utf8.RuneError && (!hostile(r) || strings.ContainsRune(keep, r)) }
	if !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) }) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case ok(r):
			b.WriteRune(r)
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[i:]); size > 1 {
				b.WriteRune(r) // a replacement character that was in the text
				continue
			}
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// cleanJSON escapes characters that JSON allows in a string and a terminal would obey. The
// document keeps its meaning: JSON has no such characters outside strings.
func cleanJSON(b []byte) []byte {
	bad := func(r rune) bool { return r >= 0x7f && hostile(r) }
	if !bytes.ContainsFunc(b, bad) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if bad(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

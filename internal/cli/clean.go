package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts of tasks, workers and servers have any author. On a terminal a control character is a command, and a
// bidirectional override changes how text reads. All output passes here, which escapes such characters.

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

// clean makes s one harmless line with escapes such as
// and \x1b.
func clean(s string) string { return cleanExcept(s, "") }

// cleanLines keeps line breaks and tabs, for texts such as stack traces.
func cleanLines(s string) string { return cleanExcept(s, "\n\t") }

// cleanExcept escapes hostile characters and invalid UTF-8, except those in keep. It returns s if there is nothing
// to escape.
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
				b.WriteRune(r) // an original replacement character
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

// cleanJSON escapes characters that JSON strings allow and terminals obey. The document keeps its meaning, because
// JSON has them only in strings.
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

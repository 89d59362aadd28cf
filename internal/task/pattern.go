package task

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 120

// Pattern names what kind of failure it is, so that a thousand of one kind are
// counted together: the code if there is one, else the type, else the message
// without what differs from one to the next (numbers, IDs).
func (f *Failure) Pattern() string {
	switch {
	case f == nil:
		return ""
	case f.Code != "":
		return Cut(oneLine(f.Code), maxPattern)
	case f.Type == "panic":
		return Cut("panic: "+generalize(oneLine(f.Message)), maxPattern)
	case f.Type != "" && f.Type != "error":
		return Cut(oneLine(f.Type), maxPattern)
	default:
		return Cut(generalize(oneLine(f.Message)), maxPattern)
	}
}

// oneLine is the beginning of a text, up to the end of its line, without what
// cannot be seen.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// generalize replaces each word that holds a digit by a mark: numbers, hashes and
// IDs are what two messages of one kind differ in.
func generalize(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		switch {
		case end == 0:
			_, size := utf8.DecodeRuneInString(s)
			b.WriteString(s[:size])
			s = s[size:]
			continue
		case end < 0:
			end = len(s)
		}
		if word := s[:end]; strings.ContainsAny(word, "0123456789") {
			b.WriteByte('#')
		} else {
			b.WriteString(word)
		}
		s = s[end:]
	}
	return b.String()
}

// isWord reports whether a rune belongs to a word. A hyphen does, so that a UUID
// is one.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }

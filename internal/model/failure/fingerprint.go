package failure

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFingerprint bounds a fingerprint, in bytes.
const maxFingerprint = 120

// Fingerprint returns the code of a failure if it has one, else its type, else the first line of its message without
// the parts (numbers, IDs) that differ between failures of one kind. A panic includes its message: its type is the same
// for all. A fingerprint is valid UTF-8 of at most 120 bytes, in one line, and "" where nothing is known.
//
// It is coarser than a Print and older: cases are counted and filtered by it, and clients know it as error_pattern.
func Fingerprint(r Report) string {
	switch {
	// A program chose the code for exactly this purpose.
	case r.Code != "":
		return Cut(oneLine(r.Code), maxFingerprint)
	case r.Type == "panic":
		return Cut("panic: "+generalize(oneLine(r.Message)), maxFingerprint)
	// "error" is what many languages call an error without a type.
	case r.Type != "" && r.Type != "error":
		return Cut(oneLine(r.Type), maxFingerprint)
	default:
		return Cut(generalize(oneLine(r.Message)), maxFingerprint)
	}
}

// oneLine returns the first line of a text, with a space for each control character.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// generalize replaces each word that contains a digit by a mark: two messages of one kind differ in numbers, hashes and
// IDs. A word that differs in letters only, such as a name, stays.
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

// isWord reports whether a rune belongs to a word. A hyphen does, so that a UUID is one word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }

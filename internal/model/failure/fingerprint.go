package failure

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxFingerprint = 120

// Fingerprint returns the code of a failure, else its type, else the first line of its message without numbers and
// IDs. A panic keeps its message, because all panics share a type. A fingerprint is one line of valid UTF-8, at
// most 120 bytes, "" if nothing is known.
//
// It is coarser and older than a Print: cases are counted and filtered by it, and clients read it as error_pattern.
func Fingerprint(r Report) string {
	switch {
	// The program chose the code for this purpose.
	case r.Code != "":
		return Cut(oneLine(r.Code), maxFingerprint)
	case r.Type == "panic":
		return Cut("panic: "+generalize(oneLine(r.Message)), maxFingerprint)
	// Many languages name an untyped error "error".
	case r.Type != "" && r.Type != "error":
		return Cut(oneLine(r.Type), maxFingerprint)
	default:
		return Cut(generalize(oneLine(r.Message)), maxFingerprint)
	}
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// generalize replaces each word that contains a digit by a mark. Words that differ in letters only stay.
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

// A hyphen belongs to a word, so that a UUID is one word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }

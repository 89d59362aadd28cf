package failure

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marks replace the parts of a message that vary.
const (
	markNumber = "<n>"
	markUUID   = "<uuid>"
	markHex    = "<hex>"
	markID     = "<id>"
	markString = "<str>"
	markTime   = "<time>"
	markAddr   = "<addr>"
	markPath   = "<path>"
)

// Normalise returns the first line of a message with marks for the parts that vary, in at most 200 bytes.
//
// It is idempotent. Rules call it and group by its result, so it keeps to version 1 of the rules.
func Normalise(message string) string {
	s, _ := normalise(message, false)
	return s
}

// normalise is Normalise, by version 2 of the rules if codes is set. coded reports whether a rule of version 2
// decided.
//
// Every grouped failure passes through it, so it uses no regular expressions.
func normalise(message string, codes bool) (s string, coded bool) {
	s = tidy(firstLine(message), looked)
	var buf [maxPart + 64]byte
	for range maxPart {
		n := normaliser{in: s, out: buf[:0], codes: codes}
		n.run()
		coded = coded || n.coded
		next := bound(n.out)
		if string(next) == s {
			break
		}
		// A mark can create something to replace: repeat until nothing changes.
		s = string(next)
	}
	return s, coded
}

func firstLine(s string) string {
	s = strings.TrimLeft(s[:min(len(s), looked)], " \t\r\n\v\f")
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	return s
}

func plain(s string) string {
	return string(bound([]byte(tidy(s[:min(len(s), 4*maxPart)], 4*maxPart))))
}

// bound cuts to 200 bytes, neither within a rune nor within a mark.
func bound(s []byte) []byte {
	if len(s) > maxPart {
		cut := maxPart
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		for i := cut - 1; i > cut-len(markUUID); i-- {
			if s[i] == '<' && markAt(string(s[i:min(len(s), i+len(markUUID))])) > cut-i {
				cut = i
				break
			}
		}
		s = s[:cut]
	}
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// tidy returns one line of valid UTF-8, at most limit bytes, without terminal escapes; each run of white space and
// control characters becomes a space. It allocates only for text that needs it.
func tidy(s string, limit int) string {
	if isTidy(s) {
		return s
	}
	out := make([]byte, 0, min(len(s)+16, limit+4))
	space := true // none at the beginning
	for i := 0; i < len(s) && len(out) < limit; {
		c := s[i]
		if c == 0x1b {
			i += escapeLen(s[i:])
			continue
		}
		if c < utf8.RuneSelf {
			i++
			if c <= ' ' || c == 0x7f {
				if !space {
					out = append(out, ' ')
				}
				space = true
				continue
			}
			out, space = append(out, c), false
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case unicode.Is(unicode.Cf, r): // invisible; some change the direction of the line
		case unicode.IsControl(r) || unicode.IsSpace(r):
			if !space {
				out = append(out, ' ')
			}
			space = true
		default:
			out, space = utf8.AppendRune(out, r), false
		}
	}
	return strings.TrimSuffix(string(out), " ")
}

func isTidy(s string) bool {
	last := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}

func escapeLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s) && i < 32; i++ {
		if '@' <= s[i] && s[i] <= '~' {
			return i + 1
		}
	}
	return 2
}

// markAt returns the length of the mark at the beginning of a text, or 0. A message may contain a mark by chance.
func markAt(s string) int {
	for _, m := range [...]string{markNumber, markString, markHex, markID, markUUID, markTime, markAddr, markPath} {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

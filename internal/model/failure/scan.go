package failure

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normaliser copies a line and replaces the parts that vary by marks.
type normaliser struct {
	in  string
	at  int
	out []byte
	// codes: apply version 2, which keeps codes; coded: one of its rules has decided.
	codes, coded bool
}

// run replaces at each place the longest match, or copies one character.
func (n *normaliser) run() {
	for n.at < len(n.in) && len(n.out) <= maxPart {
		c := n.in[n.at]
		switch {
		case c == '<' && n.copyMark():
		case isQuote(c) && n.quoted():
		case c == '/' || c == '~' || c == '.' || c == '\\':
			if !n.path() {
				n.copy(1)
			}
		case c == ':' && n.addressOfColons():
		case c == '[' && n.codes && n.bracketed():
		case isAlnum(c):
			n.word()
		case c < utf8.RuneSelf:
			n.copy(1)
		default:
			n.rune()
		}
	}
}

func (n *normaliser) copy(size int) {
	n.out = append(n.out, n.in[n.at:n.at+size]...)
	n.at += size
}

// mark replaces the next size bytes and returns true, for the convenience of its callers.
func (n *normaliser) mark(m string, size int) bool {
	n.out = append(n.out, m...)
	n.at += size
	return true
}

// copyMark keeps a mark, which makes Normalise idempotent.
func (n *normaliser) copyMark() bool {
	size := markAt(n.in[n.at:])
	n.copy(size)
	return size > 0
}

// before returns the previous byte, a space at the beginning.
func (n *normaliser) before() byte {
	if n.at == 0 {
		return ' '
	}
	return n.in[n.at-1]
}

// rune copies a rune that is not ASCII; digits of any script are numbers, and typographic quotes are quotes.
func (n *normaliser) rune() {
	r, size := utf8.DecodeRuneInString(n.in[n.at:])
	switch {
	case r == '“' && n.until("”", size), r == '‘' && n.until("’", size), r == '«' && n.until("»", size):
	case unicode.IsDigit(r):
		end := n.at + size
		for end < len(n.in) {
			r, size := utf8.DecodeRuneInString(n.in[end:])
			if !unicode.IsDigit(r) {
				break
			}
			end += size
		}
		n.mark(markNumber, end-n.at)
	default:
		n.copy(size)
	}
}

func (n *normaliser) until(closing string, size int) bool {
	i := strings.Index(n.in[n.at+size:], closing)
	return i >= 0 && n.mark(markString, size+i+len(closing))
}

// quoted replaces a quoted text. A quote within a word is an apostrophe; a backslash escapes.
func (n *normaliser) quoted() bool {
	quote := n.in[n.at]
	if isAlnum(n.before()) {
		return false
	}
	for i := n.at + 1; i < len(n.in); i++ {
		switch c := n.in[i]; {
		case c == '\\':
			i++
		case c == quote && (i+1 == len(n.in) || !isAlnum(n.in[i+1])):
			size := i + 1 - n.at
			return n.codes && n.named(size) || n.mark(markString, size)
		}
	}
	return false
}

// path replaces /a, ./a, ../a, ~/a, \\server\a, with a line number behind but without the punctuation of a
// sentence. A slash within a word begins no path.
func (n *normaliser) path() bool {
	s := n.in[n.at:]
	if b := n.before(); isAlnum(b) || b == '/' || b == '>' || b == '.' || b == '\\' {
		return false
	}
	begin := 0
	for _, prefix := range [...]string{"/", "./", "../", "~/", `\\`} {
		if strings.HasPrefix(s, prefix) {
			begin = len(prefix)
		}
	}
	if begin == 0 || len(s) == begin || !isPathStart(s[begin]) {
		return false
	}
	return n.mark(markPath, pathLen(s, begin))
}

func pathLen(s string, i int) int {
	for i < len(s) && isPath(s[i]) {
		i++
	}
	for i > 1 && strings.IndexByte(".-?&#", s[i-1]) >= 0 {
		i--
	}
	for i+1 < len(s) && s[i] == ':' && isDigit(s[i+1]) {
		for i++; i < len(s) && isDigit(s[i]); i++ {
		}
	}
	return i
}

func isPathStart(c byte) bool {
	return isAlnum(c) || c >= utf8.RuneSelf || strings.IndexByte("_.-@%~$+", c) >= 0
}

func isPath(c byte) bool { return isPathStart(c) || strings.IndexByte(`/\=?&#`, c) >= 0 }

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

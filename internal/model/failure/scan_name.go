package failure

import "strings"

// named keeps a quoted name that identifies the cause: of a column or a property, a code, the key of a code in
// JSON. It marks digits, because tables and constraints are numbered by month or tenant. size includes the quotes.
func (n *normaliser) named(size int) bool {
	s := n.in[n.at : n.at+size]
	inside := s[1 : size-1]
	if len(inside) == 0 || len(inside) > 64 {
		return false
	}
	var folded [24]byte
	if rest := n.in[n.at+size:]; strings.HasPrefix(rest, ":") && len(inside) <= len(folded) && isName(inside, false) &&
		meaningOf(fold(folded[:0], []byte(inside))) != meansNothing {
		n.copy(size)
		n.coded = true
		return true
	}
	before, rest := lastWord(n.out, separators)
	if len(before)+len(rest) == len(n.out) {
		return false
	}
	switch noun := string(fold(folded[:0], before)); {
	case isThing(noun) && isName(inside, true), noun == "key" && n.keyOfIndex(rest) && isName(inside, true):
		n.nameWithMarks(s)
	case noun == "code" && isConstant(inside) && codeOf(rest), noun == "errorcode" && isConstant(inside):
		n.copy(size)
	default:
		return false
	}
	n.coded = true
	return true
}

func (n *normaliser) nameWithMarks(s string) {
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i > start {
			n.mark(markNumber, i-start)
			continue
		}
		n.copy(1)
		i++
	}
}

// isThing recognises a part of a program or schema, whose name identifies the cause.
func isThing(noun string) bool {
	switch noun {
	case "column", "field", "constraint", "relation", "table", "index", "attribute", "property", "parameter", "argument",
		"function", "procedure", "trigger", "module", "class", "method", "variable", "header", "option", "reading",
		"setting":
		return true
	}
	return false
}

// keyOfIndex recognises the key of an index: "for key 'users.email'".
func (n *normaliser) keyOfIndex(rest []byte) bool {
	before, _ := lastWord(rest, " ")
	return string(before) == "for" || string(before) == "unique" || string(before) == "foreign"
}

// isName recognises an identifier, with points if allowed; marks count as digits.
func isName(s string, points bool) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isLetter(c) || c == '_' || c == '$' || i > 0 && isDigit(c) || points && i > 0 && c == '.':
		case i > 0 && strings.HasPrefix(s[i:], markNumber):
			i += len(markNumber) - 1
		default:
			return false
		}
	}
	return true
}

func isConstant(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('A' <= c && c <= 'Z' || i > 0 && (isDigit(c) || c == '_')) {
			return false
		}
	}
	return len(s) > 1 && len(s) <= 40
}

// bracketed replaces an IPv6 address in brackets with zone and port: [fe80::2%eth0]:443.
func (n *normaliser) bracketed() bool {
	s := n.in[n.at:]
	i, colons, digit := 1, 0, false
	for ; i < len(s) && (isHex(s[i]) || s[i] == ':' || s[i] == '.'); i++ {
		if s[i] == ':' {
			colons++
		}
		digit = digit || isDigit(s[i])
	}
	if colons < 2 || !digit && s[1:i] != "::" {
		return false
	}
	i += zoneOfAddress(s[i:])
	if i >= len(s) || s[i] != ']' {
		return false
	}
	i++
	if i+1 < len(s) && s[i] == ':' && isDigit(s[i+1]) {
		for i++; i < len(s) && isDigit(s[i]); i++ {
		}
	}
	n.coded = true
	return n.mark(markAddr, i)
}

func zoneOfAddress(s string) int {
	if len(s) < 2 || s[0] != '%' || !isAlnum(s[1]) {
		return 0
	}
	i := 1
	for i < len(s) && i < 32 && (isAlnum(s[i]) || s[i] == '.' || s[i] == '-' || s[i] == '_') {
		i++
	}
	for !isAlnum(s[i-1]) {
		i--
	}
	return i
}

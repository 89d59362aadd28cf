package failure

import "strings"

// dotted replaces an IPv4 address with its port or prefix length. Versions such as 1.2.3 have three groups and stay
// numbers.
func (n *normaliser) dotted(s string) bool {
	i := 0
	for group := range 4 {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == start || i > start+3 {
			return false
		}
		if group < 3 {
			if i >= len(s) || s[i] != '.' {
				return false
			}
			i++
		}
	}
	if i < len(s) && isAlnum(s[i]) || i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		return false
	}
	if i+1 < len(s) && (s[i] == ':' || s[i] == '/') && isDigit(s[i+1]) {
		for i++; i < len(s) && isDigit(s[i]); i++ {
		}
	}
	return n.mark(markAddr, i)
}

func (n *normaliser) addressOfColons() bool {
	return !isAlnum(n.before()) && n.colons(n.in[n.at:])
}

// colons replaces an IPv6 address; version 2 includes its zone.
func (n *normaliser) colons(s string) bool {
	size := colonsLen(s)
	if size == 0 {
		return false
	}
	if n.codes {
		zone := zoneOfAddress(s[size:])
		n.coded = n.coded || zone > 0
		size += zone
	}
	return n.mark(markAddr, size)
}

// colonsLen is the length of an IPv6 or MAC address at the beginning: groups of hexadecimal digits with a digit,
// and :: or at least 3 colons.
func colonsLen(s string) int {
	i, colons, double, digit := 0, 0, false, false
	for ; i < len(s) && (isHex(s[i]) || s[i] == ':'); i++ {
		if s[i] == ':' {
			colons++
			double = double || i > 0 && s[i-1] == ':'
		}
		digit = digit || isDigit(s[i])
	}
	if !digit || colons < 2 || !double && colons < 3 || i < len(s) && isAlnum(s[i]) {
		return 0
	}
	for i > 0 && s[i-1] == ':' {
		i--
	}
	return i
}

// number replaces a number with its sign. Behind an operand the sign stays: 3-1 keeps its minus.
func (n *normaliser) number(size int) {
	if last := len(n.out) - 1; last >= 0 && (n.out[last] == '-' || n.out[last] == '+') &&
		(last == 0 || strings.IndexByte(" (=:,[", n.out[last-1]) >= 0) {
		n.out = n.out[:last]
	}
	n.mark(markNumber, size)
}

// numberLen is the length of a number: 1, 1.5, 1,000, 1e-9, and durations such as 1m30.5s. A longer word that
// begins with a number has length 0.
func numberLen(s string) int {
	i := digitsLen(s)
	for i < len(s) && isLetter(s[i]) {
		unit := unitLen(s[i:])
		if unit == 0 {
			return exponentLen(s, i)
		}
		i += unit
		if i < len(s) && isDigit(s[i]) {
			i += digitsLen(s[i:])
			continue
		}
		break
	}
	if i < len(s) && isAlnum(s[i]) {
		return 0
	}
	return i
}

func digitsLen(s string) int {
	i := 0
	for i < len(s) && (isDigit(s[i]) || i+1 < len(s) && (s[i] == '.' || s[i] == ',') && i > 0 && isDigit(s[i+1])) {
		i++
	}
	return i
}

func exponentLen(s string, i int) int {
	if s[i]|0x20 != 'e' {
		return 0
	}
	i++
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	start := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == start || i < len(s) && isAlnum(s[i]) {
		return 0
	}
	return i
}

func unitLen(s string) int {
	for _, unit := range [...]string{"ns", "us", "ms", "s", "m", "h", "d"} {
		if strings.HasPrefix(s, unit) && (len(s) == len(unit) || !isLetter(s[len(unit)])) {
			return len(unit)
		}
	}
	return 0
}

// mixed marks a long run of hexadecimal digits as a hash, and a word that changes between letters and digits more
// than twice as an identifier. In other words, such as sha256 or worker7, it marks only the digits.
func (n *normaliser) mixed(s string) {
	hex, changes := true, 0
	for i := range len(s) {
		hex = hex && isHex(s[i])
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			changes++
		}
	}
	switch {
	case changes == 0:
		n.number(len(s))
	case hex && (len(s) >= 8 || changes > 2):
		n.mark(markHex, len(s))
	case changes > 2:
		n.mark(markID, len(s))
	default:
		for i := 0; i < len(s); {
			start := i
			for i < len(s) && isDigit(s[i]) == isDigit(s[start]) {
				i++
			}
			if isDigit(s[start]) {
				n.mark(markNumber, i-start)
			} else {
				n.copy(i - start)
			}
		}
	}
}

package failure

import "strings"

// shape reports whether a text begins with want, in which 0 is any digit.
func shape(s, want string) bool {
	if len(s) < len(want) {
		return false
	}
	for i := range len(want) {
		if want[i] == '0' && !isDigit(s[i]) || want[i] != '0' && s[i] != want[i] {
			return false
		}
	}
	return true
}

func (n *normaliser) timeOfDay(s string) bool {
	i := 0
	if shape(s, "0000-00-00") || shape(s, "0000/00/00") {
		i = 10
	}
	clock := i
	if i > 0 && i < len(s) && (s[i] == 'T' || s[i] == ' ' || s[i] == '_') {
		clock = i + 1
	}
	if end := clock + clockLen(s[clock:]); end > clock {
		i = end + zoneLen(s[end:])
	}
	if i == 0 || i < len(s) && isAlnum(s[i]) {
		return false
	}
	return n.mark(markTime, i)
}

// clockLen is the length of 15:04, 15:04:05 or 15:04:05.000.
func clockLen(s string) int {
	i := 0
	switch {
	case shape(s, "00:00"):
		i = 5
	case shape(s, "0:00"):
		i = 4
	default:
		return 0
	}
	if shape(s[i:], ":00") {
		i += 3
		if i+1 < len(s) && (s[i] == '.' || s[i] == ',') && isDigit(s[i+1]) {
			for i++; i < len(s) && isDigit(s[i]); i++ {
			}
		}
	}
	if i < len(s) && isDigit(s[i]) || i+1 < len(s) && s[i] == ':' && isHex(s[i+1]) {
		return 0
	}
	return i
}

// dayOrMonth replaces a weekday before a date, and a month beside a number. Alone, such a word is more likely a
// name: May, Mark, Sun.
func (n *normaliser) dayOrMonth(word, rest string) bool {
	if len(word) < 3 || word[0] < 'A' || word[0] > 'Z' {
		return false
	}
	at := strings.Index("SunMonTueWedThuFriSatJanFebMarAprMayJunJulAugSepOctNovDec", word[:3])
	if at < 0 || at%3 != 0 || len(word) > 3 && !longDate(word) {
		return false
	}
	next := strings.TrimLeft(strings.TrimPrefix(rest, ","), " -")
	if next == rest || next == "" { // nothing follows, or another letter
		return at >= 21 && n.afterNumber() && n.mark(markTime, len(word))
	}
	day := at < 21 && (isDigit(next[0]) || len(next) >= 3 && isMonth(next[:3]))
	month := at >= 21 && (isDigit(next[0]) || n.afterNumber())
	return (day || month) && n.mark(markTime, len(word))
}

func isMonth(s string) bool {
	at := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s)
	return at >= 0 && at%3 == 0
}

func (n *normaliser) afterNumber() bool {
	return strings.HasSuffix(strings.TrimRight(string(n.out[max(len(n.out)-8, 0):]), " -/"), markNumber)
}

func longDate(s string) bool {
	switch s {
	case "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "January", "February", "March",
		"April", "June", "July", "August", "September", "October", "November", "December":
		return true
	}
	return false
}

func zoneLen(s string) int {
	if s == "" {
		return 0
	}
	switch {
	case s[0] == 'Z':
		return 1
	case s[0] != '+' && s[0] != '-':
		return 0
	case shape(s[1:], "00:00"):
		return 6
	case shape(s[1:], "0000"):
		return 5
	}
	return 0
}

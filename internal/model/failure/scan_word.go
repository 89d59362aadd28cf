package failure

import "strings"

// word replaces the longest match at a letter or digit. The order of the cases matters: a URL contains a host, and
// a time looks like an address with colons.
func (n *normaliser) word() {
	s := n.in[n.at:]
	run := 1
	digits := isDigit(s[0])
	for run < len(s) && isAlnum(s[run]) {
		digits = digits || isDigit(s[run])
		run++
	}
	switch {
	case digits && n.codes && n.code(s, run):
		return
	case n.url(s, run), n.email(s), n.drive(s, run):
		return
	case n.host(s):
		return
	case !digits && n.dayOrMonth(s[:run], s[run:]):
		return
	case !digits:
		if !n.colons(s) {
			n.copy(run)
		}
		return
	case n.uuid(s), n.zeroX(s, run), n.timeOfDay(s), n.dotted(s), n.colons(s):
		return
	}
	if isDigit(s[0]) {
		if size := numberLen(s); size >= run {
			n.number(size)
			return
		}
	}
	n.mixed(s[:run])
}

func (n *normaliser) url(s string, run int) bool {
	for run < len(s) && (isAlnum(s[run]) || s[run] == '+') {
		run++
	}
	if !strings.HasPrefix(s[run:], "://") {
		return false
	}
	end := run + 3
	for end < len(s) && s[end] > ' ' && strings.IndexByte(`"'<>()[]{}|,;`+"`", s[end]) < 0 {
		end++
	}
	for end > run+3 && strings.IndexByte(".:!?", s[end-1]) >= 0 {
		end--
	}
	return n.mark(markAddr, end)
}

func (n *normaliser) email(s string) bool {
	i := hostLen(s, "._-+%")
	if i >= len(s) || s[i] != '@' {
		return false
	}
	host := hostLen(s[i+1:], ".-")
	if !strings.Contains(s[i+1:i+1+host], ".") {
		return false
	}
	return n.mark(markAddr, i+1+host)
}

// maxHost bounds a host, in bytes, to keep the scan of a text without spaces linear.
const maxHost = 255

func hostLen(s, others string) int {
	s = s[:min(len(s), maxHost)]
	i := 0
	for i < len(s) && (isAlnum(s[i]) || strings.IndexByte(others, s[i]) >= 0) {
		i++
	}
	for i > 0 && !isAlnum(s[i-1]) {
		i--
	}
	return i
}

// drive replaces a Windows path: C:\a.
func (n *normaliser) drive(s string, run int) bool {
	if run != 1 || !isLetter(s[0]) || len(s) < 4 || s[1] != ':' || s[2] != '\\' || !isPathStart(s[3]) {
		return false
	}
	return n.mark(markPath, pathLen(s, 3))
}

// sources are extensions of source files: with a line number they look like a host with a port.
var sources = map[string]bool{"go": true, "py": true, "js": true, "ts": true, "java": true, "rb": true, "cs": true,
	"php": true, "rs": true, "c": true, "cc": true, "cpp": true, "h": true, "jsx": true, "tsx": true, "mjs": true,
	"kt": true, "scala": true, "ex": true, "exs": true, "vue": true, "sql": true, "yaml": true, "yml": true,
	"json": true, "xml": true}

// host replaces host.domain:port and localhost:port. Without a port the word may be a type or a file and stays.
func (n *normaliser) host(s string) bool {
	i := hostLen(s, ".-_")
	if i+1 >= len(s) || s[i] != ':' || !isDigit(s[i+1]) {
		return false
	}
	dot := strings.LastIndexByte(s[:i], '.')
	if dot < 0 && s[:i] != "localhost" || dot >= 0 && (sources[s[dot+1:i]] || !letters(s[:i])) {
		return false
	}
	for i++; i < len(s) && isDigit(s[i]); i++ {
	}
	return n.mark(markAddr, i)
}

func letters(s string) bool {
	for i := range len(s) {
		if isLetter(s[i]) {
			return true
		}
	}
	return false
}

func (n *normaliser) uuid(s string) bool {
	const size = 36
	if len(s) < size || len(s) > size && isAlnum(s[size]) {
		return false
	}
	for i := range size {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !isHex(s[i]) {
			return false
		}
	}
	return n.mark(markUUID, size)
}

func (n *normaliser) zeroX(s string, run int) bool {
	if run < 3 || s[0] != '0' || s[1]|0x20 != 'x' {
		return false
	}
	for i := 2; i < run; i++ {
		if !isHex(s[i]) {
			return false
		}
	}
	return n.mark(markHex, run)
}

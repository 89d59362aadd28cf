package failure

import "strings"

// Version 2 keeps a number or a quoted text that identifies the cause: the words before it name a status, a code,
// an errno, a SQLSTATE, an exit status, or a column.
//
// It reads these words from the output, not from the input, so that the result is stable.

// meaning is the kind of a number, by the words before it.
type meaning int

const (
	meansNothing meaning = iota
	meansStatus          // of HTTP, or of a process: up to three digits
	meansHTTP            // 100 to 599
	meansReply           // 400 to 599, without a counted noun behind
	meansCode            // up to five digits, a short name with digits, 0x and up to eight
	meansExit            // up to ten digits, as on Windows
	meansError           // a code at the end of a sentence: "error 5 of 10" counts
	meansState           // of SQL: five digits and capitals
	meansVendor          // ORA-00942
)

func (n *normaliser) code(s string, run int) bool {
	end, means := n.codeAt(s, run), meansNothing
	if end > 0 {
		means = n.meaning()
	}
	if !means.allows(s, end) && !n.statusLine(s, end) && !n.firstCode(s, end) {
		return false
	}
	n.copy(end)
	n.coded = true
	return true
}

func (n *normaliser) codeAt(s string, run int) int {
	if run > 10 || run < len(s) && (s[run] == '_' || s[run] == '%') {
		return 0
	}
	if run+1 < len(s) && strings.IndexByte(".,:-/", s[run]) >= 0 && isDigit(s[run+1]) {
		return 0
	}
	return run
}

func (m meaning) allows(s string, size int) bool {
	code := s[:size]
	number := digitsOnly(code)
	switch m {
	case meansStatus:
		return number && size <= 3
	case meansHTTP:
		return number && size == 3 && '1' <= code[0] && code[0] <= '5'
	case meansReply:
		return isFailureStatus(code) && endsSentence(s[size:])
	case meansCode:
		return number && size <= 5 || shortCode(code) || size > 2 && size <= 10 && code[0] == '0' && code[1] == 'x'
	case meansExit:
		return number
	case meansError:
		return (number && size <= 5 || shortCode(code)) && endsSentence(s[size:])
	case meansState:
		return size == 5 && strings.ToUpper(code) == code
	case meansVendor:
		return number && size >= 3 && size <= 5
	}
	return false
}

// statusLine recognises an HTTP status by its surroundings: a URL before it, its reason behind.
func (n *normaliser) statusLine(s string, size int) bool {
	if size != 3 || !isFailureStatus(s[:size]) {
		return false
	}
	rest := s[size:]
	if len(rest) > 1 && rest[0] == ' ' && isReason(rest[1:]) {
		return true
	}
	tail := strings.TrimRight(string(n.out[max(len(n.out)-len(markAddr)-2, 0):]), ": ")
	return strings.HasSuffix(tail, markAddr) && endsSentence(rest)
}

// firstCode recognises a code such as E11000 at the beginning of a message or behind a colon.
func (n *normaliser) firstCode(s string, size int) bool {
	if size < 4 || size > 6 || s[0] != 'E' || !digitsOnly(s[1:size]) {
		return false
	}
	out := n.out
	return len(out) == 0 || len(out) > 1 && string(out[len(out)-2:]) == ": "
}

var reasons = [...]string{"Bad", "Unauthorized", "Payment", "Forbidden", "Not", "Method", "Proxy", "Request",
	"Conflict", "Gone", "Length", "Precondition", "Content", "Payload", "URI", "Unsupported", "Expectation",
	"Unprocessable", "Locked", "Too", "Upgrade", "Internal", "Service", "Gateway", "Client Error", "Server Error", "HTTP"}

func isReason(s string) bool {
	for _, r := range reasons {
		if strings.HasPrefix(s, r) && (len(s) == len(r) || !isAlnum(s[len(r)])) {
			return true
		}
	}
	return false
}

func isFailureStatus(s string) bool {
	return len(s) == 3 && (s[0] == '4' || s[0] == '5') && isDigit(s[1]) && isDigit(s[2])
}

// shortCode recognises capitals with a number behind: TS2345, P2002, E404.
func shortCode(s string) bool {
	i := 0
	for i < len(s) && 'A' <= s[i] && s[i] <= 'Z' {
		i++
	}
	return i > 0 && i <= 6 && i < len(s) && len(s)-i <= 5 && digitsOnly(s[i:])
}

// endsSentence reports whether no noun follows that a number could count.
func endsSentence(rest string) bool {
	if rest == "" || strings.IndexByte(":);]}", rest[0]) >= 0 || strings.HasPrefix(rest, " (") {
		return true
	}
	return rest[0] == '.' && (len(rest) == 1 || rest[1] == ' ') || len(rest) > 1 && rest[0] == ' ' && isReason(rest[1:])
}

func (n *normaliser) meaning() meaning {
	out := n.out
	if len(out) > 1 && out[len(out)-1] == '-' {
		if w, _ := lastWord(out[:len(out)-1], ""); isVendor(w) {
			return meansVendor
		}
		if isSeparator(out[len(out)-2]) { // a sign
			out = out[:len(out)-1]
		}
	}
	word, rest := lastWord(out, separators)
	if len(rest)+len(word) == len(out) {
		return meansNothing // no separator between word and number
	}
	if digitsOnly(string(word)) && len(word) > 0 && out[len(out)-1] == '(' { // Error 1062 (23000)
		if before, _ := lastWord(rest, separators); isWordOf(before, "error") {
			return meansState
		}
		return meansNothing
	}
	if len(word) == 0 && strings.HasSuffix(string(rest), "HTTP/"+markNumber) {
		return meansHTTP
	}
	var folded [24]byte
	switch m := meaningOf(fold(folded[:0], word)); m {
	case meansNothing:
		return n.meaningWith(word, rest)
	case meansStatus:
		if before, _ := lastWord(rest, separators); isWordOf(before, "exit") {
			return meansExit
		}
		return m
	case meansCode:
		if isWordOf(word, "code") && !codeOf(rest) {
			return meansNothing
		}
		return m
	default:
		return m
	}
}

// meaningWith reads two words before a number: "responded with", "exited with", "sql state".
func (n *normaliser) meaningWith(word, rest []byte) meaning {
	var folded [24]byte
	before, _ := lastWord(rest, separators)
	first := fold(folded[:0], before)
	switch {
	case isWordOf(word, "with"):
		switch string(first) {
		case "responded", "replied", "answered", "failed", "returned":
			return meansReply
		case "exited", "terminated":
			return meansExit
		}
	case isWordOf(word, "state") && string(first) == "sql":
		return meansState
	case isWordOf(word, "value") && string(first) == "exit":
		return meansExit
	}
	return meansNothing
}

// word is in lower case, without underscores.
func meaningOf(word []byte) meaning {
	switch string(word) {
	case "http", "httpstatus", "httpcode", "httpstatuscode", "response", "responsecode", "responsestatus":
		return meansHTTP
	case "status", "statuscode", "grpcstatus", "signal":
		return meansStatus
	case "returned", "responded", "replied", "answered", "returns", "responds", "replies", "answers":
		return meansReply
	case "code", "errno", "winerror", "errorcode", "errcode", "errorno", "errornumber", "grpccode", "sqlcode", "hresult",
		"reasoncode", "resultcode", "faultcode", "returncode":
		return meansCode
	case "exit", "exitcode", "exitstatus", "exitvalue":
		return meansExit
	case "error", "err":
		return meansError
	case "sqlstate":
		return meansState
	}
	return meansNothing
}

// codeOf reports whether "code" behind a text means a failure: a postal or voucher code does not.
func codeOf(rest []byte) bool {
	before, more := lastWord(rest, " ")
	if len(before) == 0 || len(more)+len(before) == len(rest) {
		return true // a clause begins, or the words are one
	}
	var folded [24]byte
	switch string(fold(folded[:0], before)) {
	case "status", "error", "err", "exit", "return", "returned", "result", "response", "reply", "reason", "http", "grpc",
		"rpc", "with", "got", "received", "returns", "vendor", "native", "sql", "fault", "failure", "abort", "close", "stop",
		"unexpected", "oracle", "mysql", "system", "os", "server", "service", "api", "a", "the", "and", "has", "by":
		return true
	}
	return false
}

const separators = " :=([{#\"'"

func isSeparator(c byte) bool { return strings.IndexByte(separators, c) >= 0 }

// lastWord returns the last word before up to four bytes of skip, and the text before it.
func lastWord(text []byte, skip string) (word, rest []byte) {
	end := len(text)
	for end > 0 && len(text)-end < 4 && strings.IndexByte(skip, text[end-1]) >= 0 {
		end--
	}
	begin := end
	for begin > 0 && end-begin < 24 && (isAlnum(text[begin-1]) || text[begin-1] == '_') {
		begin--
	}
	return text[begin:end], text[:begin]
}

func fold(to, word []byte) []byte {
	for _, c := range word {
		switch {
		case 'A' <= c && c <= 'Z':
			to = append(to, c|0x20)
		case c != '_':
			to = append(to, c)
		}
	}
	return to
}

func isWordOf(word []byte, with string) bool {
	var folded [24]byte
	return string(fold(folded[:0], word)) == with
}

func isVendor(word []byte) bool {
	switch string(word) {
	case "ORA", "PLS", "TNS", "DPY", "DPI", "RMAN":
		return true
	}
	return false
}

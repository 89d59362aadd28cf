package posturl

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxPort = 65535

// URL is a normalised destination. It is immutable.
type URL struct {
	scheme, host string // in lower case; the host without brackets and without a trailing dot
	port         int
	path         string // begins with a slash; escapes in upper case, only where needed
	query        string // as written
	asks         bool   // it has a query
}

// Parse reads a destination. fault completes "the URL ..." and repeats no part of the text, which may be a secret;
// "" for a usable URL.
func Parse(text string) (u *URL, fault string) {
	if fault := textFault(text); fault != "" {
		return nil, fault
	}
	raw, err := url.Parse(text)
	switch {
	case err == nil && raw.User != nil:
		return nil, "must not have a user or a password: answers and logs would show them"
	case err != nil || raw.Scheme != "http" && raw.Scheme != "https" || raw.Opaque != "" || raw.Host == "":
		return nil, "must be a URL that begins with https:// or http:// and a host"
	}
	u = &URL{scheme: raw.Scheme, query: raw.RawQuery, asks: raw.RawQuery != "" || raw.ForceQuery}
	if u.host, fault = host(raw.Hostname(), strings.HasPrefix(raw.Host, "[")); fault != "" {
		return nil, fault
	}
	if u.port, fault = port(raw); fault != "" {
		return nil, fault
	}
	if u.path, fault = path(raw.EscapedPath()); fault != "" {
		return nil, fault
	}
	return u, ""
}

// Programs disagree about the characters that textFault refuses.
func textFault(text string) string {
	for _, c := range []byte(text) {
		switch {
		case c <= ' ' || c >= 0x7f:
			return "must be printable ASCII: write other characters with % and their bytes, and other hosts as xn--"
		case c == '\\':
			return "must not have a backslash"
		case c == '#':
			return "must not have a fragment (#): it is not sent"
		}
	}
	return ""
}

func host(name string, brackets bool) (normal, fault string) {
	name = strings.ToLower(name)
	if brackets {
		if strings.Trim(name, "0123456789abcdef:.") != "" {
			return "", "must have an IPv6 address in the brackets, without a zone"
		}
		return name, ""
	}
	name = strings.TrimSuffix(name, ".")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", "must have a host of letters, digits, hyphens and dots"
		}
	}
	return name, ""
}

func port(u *url.URL) (n int, fault string) {
	text := u.Port()
	switch {
	case text == "" && strings.HasSuffix(u.Host, ":"):
		return 0, "must have a port behind the colon of the host"
	case text == "" && u.Scheme == "https":
		return 443, ""
	case text == "":
		return 80, ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPort {
		return 0, "must have a port from 1 to 65535"
	}
	return n, ""
}

func path(escaped string) (normal, fault string) {
	if escaped == "" {
		return "/", ""
	}
	normal = unescapeNeedless(escaped)
	segments := strings.Split(normal[1:], "/")
	for i, segment := range segments {
		if fault := segmentFault(segment, i == len(segments)-1); fault != "" {
			return "", fault
		}
	}
	return normal, ""
}

// segmentFault refuses a segment by which a server could leave the segments before it.
func segmentFault(segment string, last bool) string {
	text, err := url.PathUnescape(segment)
	name, _, parameters := strings.Cut(text, ";")
	switch {
	case err != nil || !utf8.ValidString(text):
		return "must have a path of UTF-8"
	case segment == "" && !last:
		return "must not have an empty segment (//) in its path"
	case strings.Contains(name, ".") && strings.Trim(name, ". ") == "": // some systems ignore these at the end of a name
		return "must not have dot segments in its path"
	case parameters && (name == "" || strings.Contains(text, ".")):
		return "must not have parameters (;) with dots or without a name in its path"
	case strings.ContainsAny(text, `/\%`):
		return "must not have an encoded slash, backslash or percent sign in its path"
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "must not have control characters in its path"
	}
	return ""
}

// unescapeNeedless decodes needless escapes and writes the others in upper case (RFC 3986, 6.2.2): %3B differs from
// a semicolon.
func unescapeNeedless(escaped string) string {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' || i+2 >= len(escaped) {
			b.WriteByte(escaped[i])
			continue
		}
		escape := escaped[i : i+3]
		if text, err := url.PathUnescape(escape); err == nil && unreserved(text[0]) {
			b.WriteString(text)
		} else {
			b.WriteString(strings.ToUpper(escape))
		}
		i += 2
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// Net returns the URL as net/http requests it.
func (u *URL) Net() *url.URL {
	plain, _ := url.PathUnescape(u.path) // it is valid
	return &url.URL{Scheme: u.scheme, Host: u.authority(), Path: plain, RawPath: u.path, RawQuery: u.query}
}

// authority returns host and port without the scheme's default port.
func (u *URL) authority() string {
	name := u.host
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if u.scheme == "http" && u.port == 80 || u.scheme == "https" && u.port == 443 {
		return name
	}
	return name + ":" + strconv.Itoa(u.port)
}

// Target says which URLs are allowed: a URL, or the beginning of one with a * at the end.
//
//   - https://h/replay/* allows everything below /replay/ without a query.
//   - https://h/replay* allows /replay and longer names of that segment, such as /replay-2, without a query.
//   - https://h/replay?job=* allows /replay with a query that begins with job=.
type Target struct {
	from URL
	open bool // ends in *
}

// ParseTarget reads a target. fault is as in Parse, or refuses a misplaced *.
func ParseTarget(text string) (t *Target, fault string) {
	begin, open := strings.CutSuffix(text, "*")
	if _, rest, ok := strings.Cut(begin, "://"); ok && open && !strings.ContainsAny(rest, "/?") {
		return nil, "must name its host and port without *: write https://billing.internal/* for all of a host"
	}
	u, fault := Parse(begin)
	switch {
	case fault != "":
		return nil, fault
	case strings.Contains(begin, "*"):
		return nil, "may have one *, at its end"
	}
	return &Target{*u, open}, ""
}

// Allows reports whether the target covers a URL.
func (t *Target) Allows(u *URL) bool {
	if u.scheme != t.from.scheme || u.host != t.from.host || u.port != t.from.port {
		return false
	}
	switch {
	case !t.open:
		return u.path == t.from.path && u.asks == t.from.asks && u.query == t.from.query
	case t.from.asks:
		return u.path == t.from.path && u.asks && strings.HasPrefix(u.query, t.from.query)
	}
	rest, begins := strings.CutPrefix(u.path, t.from.path)
	return begins && !u.asks && (strings.HasSuffix(t.from.path, "/") || !strings.Contains(rest, "/"))
}

package posturl

import "strings"

// Target says which URLs are allowed. It is a URL, or the beginning of one and a * at its end:
//
//   - https://h/replay/* allows everything below /replay/, and nothing with a query.
//   - https://h/replay* allows /replay and what begins so up to the end of that segment, such as /replay-2, and nothing
//     with a query.
//   - https://h/replay?job=* allows /replay with a query that begins with job=, whatever comes behind it.
type Target struct {
	from URL
	open bool // ends in *
}

// ParseTarget reads a target. fault is that of Parse, or says where a * may stand.
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

// Allows reports whether a URL is one of the target.
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

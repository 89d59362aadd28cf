package deadletter

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// PolicyFields are the fields of a policy that the API and the configuration name in another way, as JSON pointers:
// they have numbers of seconds in place of durations.
var PolicyFields = map[string]string{"/base": "/base_seconds", "/cap": "/cap_seconds", "/at": "/time_of_day",
	"/max_age": "/max_age_seconds", "/only_types": "/only_error_types"}

// ParseTimeOfDay converts HH:MM, in UTC, to the time since midnight; "" is midnight.
func ParseTimeOfDay(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") || strings.ContainsAny(text, "+-") { // time.Parse accepts 3:30 as well
		return 0, errors.New("must be a time of day such as 03:30")
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// PolicyFor returns the policy for an origin of a source, or nil. list has policies of one namespace, in any order; of
// those that apply, the first of these decides: that of the origin in the source, that of the origin in all sources,
// that of the source, that of all sources.
func PolicyFor(list []*Policy, source, origin string) *Policy {
	var best *Policy
	rank := 0
	for _, p := range list {
		if p.Source != "" && p.Source != source || p.Origin != "" && p.Origin != origin {
			continue
		}
		n := 1
		if p.Origin != "" {
			n += 2
		}
		if p.Source != "" {
			n++
		}
		if n > rank {
			best, rank = p, n
		}
	}
	return best
}

// PoliciesOf returns the policies of a list that decide about letters of a source: one for each origin that has one,
// then that for all other origins, if there is one. list has policies of one namespace.
func PoliciesOf(list []*Policy, source string) []*Policy {
	var out []*Policy
	for _, p := range list {
		if p == PolicyFor(list, source, p.Origin) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Policy) int {
		if (a.Origin == "") != (b.Origin == "") {
			return -cmp.Compare(a.Origin, b.Origin)
		}
		return cmp.Compare(a.Origin, b.Origin)
	})
	return out
}

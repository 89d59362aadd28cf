package deadletter

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Policy decides which letters of a source are sent back automatically, and when.
type Policy struct {
	Namespace string
	Source    string
	Origin    string // "" for origins without their own policy
	Strategy  model.Strategy
	// MaxRetries bounds the replays of a letter; then it is discarded, or left to an operator with KeepExhausted.
	MaxRetries    int
	KeepExhausted bool
	Base, Cap     time.Duration
	Multiplier    float64
	Jitter        float64 // share of the delay, 0 to 1
	// At is the time of day of ScheduledAt, since midnight UTC.
	At           time.Duration
	MaxAge       time.Duration
	OnlyTypes    []string
	DiscardTests bool `json:",omitempty"`
	// CopyRetries copies each letter that the policy sends to the destination with CopySuffix, if that exists.
	CopyRetries bool               `json:",omitempty"`
	SetFrom     model.PolicySetter `json:",omitempty"`
	SetBy       string             `json:",omitempty"`
	SetAt       task.Instant       `json:",omitempty"`
	Version     int64
}

// Parts of names with a meaning.
const (
	TestPrefix = "test-"
	CopySuffix = "-retry"
)

// DriverHTTP is a source whose letters are reported and sent back by POST.
const DriverHTTP = "http"

// SourceKey names a source. A joined text would be ambiguous.
type SourceKey struct{ Namespace, Name string }

// Key returns the key of the source.
func (s *Source) Key() SourceKey { return SourceKey{s.Namespace, s.Name} }

// Source is the origin of letters.
type Source struct {
	Namespace string
	Name      string
	Driver    string // name of a driver, or "http" for a reporting program
	URL       string // of the broker; its secrets are never shown
	Queue     string // list, stream, queue or topic
	Format    string
	// Targets are allowed destinations besides the origins. An entry that ends in "*" is a prefix; for "http", see
	// posturl.Target.
	Targets    []string
	MaxReplays int
	// MaxOpen stops capturing at this number of open letters; nothing is dropped. 0: no bound.
	MaxOpen int
	Paused  bool
	Intake  *Intake `json:",omitempty"`
	// Sensitive are JSON pointers into payloads, SensitiveHeaders names in any case, both only for permitted keys.
	Sensitive        []string `json:",omitempty"`
	SensitiveHeaders []string `json:",omitempty"`
	// LostAt and LostFor describe its loss; 0 and "" while it is readable.
	LostAt  task.Instant
	LostFor string
	Version int64
}

// PolicyFields maps JSON pointers to the fields of API and configuration, with seconds for durations.
var PolicyFields = map[string]string{"/base": "/base_seconds", "/cap": "/cap_seconds", "/at": "/time_of_day",
	"/max_age": "/max_age_seconds", "/only_types": "/only_error_types"}

// ParseTimeOfDay converts HH:MM in UTC; "" is midnight.
func ParseTimeOfDay(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") || strings.ContainsAny(text, "+-") { // time.Parse accepts 3:30, too
		return 0, errors.New("must be a time of day such as 03:30")
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// PolicyFor returns the policy of one namespace for an origin of a source, or nil. The first of these decides: origin
// in the source, origin in all sources, source, all sources.
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

// PoliciesOf returns the policies of a source: one for each origin that has one, then the one for all others. list is
// of one namespace.
func PoliciesOf(list []*Policy, source string) []*Policy {
	var out []*Policy
	for _, p := range list {
		if p == PolicyFor(list, source, p.Origin) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(min(len(b.Origin), 1), min(len(a.Origin), 1)), cmp.Compare(a.Origin, b.Origin))
	})
	return out
}

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

// Policy says which letters of a source are sent back without an operator, and when.
type Policy struct {
	Namespace string
	Source    string // "" for every source of the namespace that has no policy of its own
	Origin    string // "" for every origin of the source that has no policy of its own
	Strategy  model.Strategy
	// MaxRetries bounds the replays of a letter; then it is discarded, or left to an operator if KeepExhausted.
	MaxRetries    int
	KeepExhausted bool
	Base, Cap     time.Duration
	Multiplier    float64
	Jitter        float64 // share of the delay, 0 to 1
	// At is the time of day of ScheduledAt, since midnight UTC.
	At time.Duration
	// MaxAge bounds the age of a letter, since it died first; 0: no bound.
	MaxAge time.Duration
	// OnlyTypes restricts the policy to these error types; empty does not.
	OnlyTypes []string
	// DiscardTests discards letters whose message ID begins with TestPrefix, whatever the strategy.
	DiscardTests bool `json:",omitempty"`
	// CopyRetries sends a copy of each letter that the policy sends to its destination with CopySuffix, if that exists.
	CopyRetries bool `json:",omitempty"`
	// SetFrom, SetBy and SetAt are where its settings come from, whose act that was, and when.
	SetFrom model.PolicySetter `json:",omitempty"`
	SetBy   string             `json:",omitempty"`
	SetAt   task.Instant       `json:",omitempty"`
	Version int64
}

const (
	// TestPrefix begins the message IDs of test events.
	TestPrefix = "test-"
	// CopySuffix follows the name of a destination in that of its copies.
	CopySuffix = "-retry"
)

// DriverHTTP is the driver of a source whose letters are reported, not read, and sent back by POST.
const DriverHTTP = "http"

// SourceKey names a source. Names may have any separator in them, so a joined text would name several sources.
type SourceKey struct{ Namespace, Name string }

// Key returns the name of the source.
func (s *Source) Key() SourceKey { return SourceKey{s.Namespace, s.Name} }

// Source is a place that letters come from.
type Source struct {
	Namespace string
	Name      string
	Driver    string // name of a driver, or "http" for a program that reports
	URL       string // of the broker; secrets in it are never shown
	Queue     string // list, stream, queue or topic
	Format    string // "" detects it
	// Targets are the destinations that letters of this source may be sent to, besides their origins. An entry that
	// ends in "*" allows every name that begins with what is before it; of the driver "http", see posturl.Target.
	Targets []string
	// MaxReplays parks a letter that was sent back that often.
	MaxReplays int
	// MaxOpen bounds the open letters: above it nothing more is captured, and nothing dropped. 0: no bound.
	MaxOpen int
	Paused  bool
	// Intake makes messages tasks; nil: they become letters.
	Intake *Intake `json:",omitempty"`
	// Only some keys may see Sensitive, by JSON pointers into payloads, and SensitiveHeaders, by their names in any case.
	Sensitive        []string `json:",omitempty"`
	SensitiveHeaders []string `json:",omitempty"`
	// LostAt is since when it cannot be read, and LostFor why; 0 and "" while it can.
	LostAt  task.Instant
	LostFor string
	Version int64
}

// PolicyFields are JSON pointers to fields that API and configuration name in another way, with seconds for durations.
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

// PolicyFor returns the policy for an origin of a source, or nil, of those of a namespace. The first of these decides:
// that of the origin in the source, of the origin in all sources, of the source, of all sources.
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
		return cmp.Or(cmp.Compare(min(len(b.Origin), 1), min(len(a.Origin), 1)), cmp.Compare(a.Origin, b.Origin))
	})
	return out
}

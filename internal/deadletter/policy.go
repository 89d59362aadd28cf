package deadletter

import (
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/task"
)

// Policy says which letters of a source are sent back without an operator, and when.
type Policy struct {
	Namespace string
	Source    string // "" for every source of the namespace that has no policy of its own
	Origin    string // "" for every origin of the source that has no policy of its own
	Strategy  model.Strategy
	// MaxRetries bounds the replays of a letter; when it is reached the letter is discarded with that reason, or left
	// to an operator if KeepExhausted.
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

// DriverHTTP is the driver of a source whose letters are reported. No node reads such a source; its letters are sent
// back by POST.
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
	// Sensitive are JSON pointers into the payloads of letters, and SensitiveHeaders names of headers in any case: the
	// values that only some keys may see.
	Sensitive        []string `json:",omitempty"`
	SensitiveHeaders []string `json:",omitempty"`
	// LostAt is since when it cannot be read, and LostFor why; 0 and "" while it can.
	LostAt  task.Instant
	LostFor string
	Version int64
}

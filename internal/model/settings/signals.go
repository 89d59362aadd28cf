package settings

import "time"

// Signals sets how signals are kept.
type Signals struct {
	// Keep is how long a signal is kept after its arrival: a step that begins to wait within that time takes it,
	// and a second signal with its ID is a duplicate.
	Keep time.Duration
	// MaxKept bounds the signals that a namespace keeps. Further ones are refused.
	MaxKept int
}

const (
	minSignalKeep = time.Minute
	maxSignalKeep = 90 * 24 * time.Hour
	maxKept       = 10_000_000
)

func (s *Signals) setDefaults() {
	orDefault(&s.Keep, 24*time.Hour)
	orDefault(&s.MaxKept, 100_000)
}

func (s Signals) validate(bad func(ok bool, format string, args ...any)) {
	bad(s.Keep >= minSignalKeep && s.Keep <= maxSignalKeep, "signals.keep must be %s to %s", minSignalKeep, maxSignalKeep)
	bad(s.MaxKept >= 1 && s.MaxKept <= maxKept, "signals.max_kept must be 1 to %d", maxKept)
}

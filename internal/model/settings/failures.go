package settings

import "time"

// FailureAnalysis is about the analysis of what has failed for good lately.
type FailureAnalysis struct {
	// Interval is the time between two analyses in the whole cluster. Defaults to 1 h; -1 is never.
	Interval time.Duration
	// Window is how far back it looks. Defaults to 24 h.
	Window time.Duration
	// AlarmAbove is the number of cases of one reason above which it raises an alarm.
	// Defaults to 50.
	AlarmAbove int
	// ReplayableAbove is the number of tasks that could be replayed above which it says
	// so. Defaults to 100.
	ReplayableAbove int
}

func (p *FailureAnalysis) setDefaults() {
	orDefault(&p.Interval, time.Hour)
	orDefault(&p.Window, 24*time.Hour)
	orDefault(&p.AlarmAbove, 50)
	orDefault(&p.ReplayableAbove, 100)
}

func (p *FailureAnalysis) validate(bad func(ok bool, format string, args ...any)) {
	bad(p.Interval >= time.Minute || p.Interval == -1, "dlq_patterns.interval must be at least 1m, or -1")
	bad(p.Window > 0, "dlq_patterns.window must be positive")
	bad(p.AlarmAbove > 0, "dlq_patterns.alarm_above must be positive")
	bad(p.ReplayableAbove > 0, "dlq_patterns.replayable_above must be positive")
}

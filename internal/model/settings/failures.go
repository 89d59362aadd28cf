package settings

import "time"

// FailureAnalysis configures the analysis of recent permanent failures.
type FailureAnalysis struct {
	// Interval is the time between two analyses in the whole cluster; -1 is never.
	Interval time.Duration
	// Window is how far back it looks.
	Window time.Duration
	// AlarmAbove is the number of cases of one reason above which it raises an alarm.
	AlarmAbove int
	// ReplayableAbove is the number of replayable tasks above which it reports them.
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

package settings

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Settings are the numbers of a Config with defaults that views and functions of a database use, by their names
// there. Times are microseconds; 0 is no bound.
func (c Config) Settings() map[string]int64 {
	bound := func(d time.Duration) int64 { return max(d, 0).Microseconds() }
	s := map[string]int64{
		"staleness.waiting_for_dependencies": bound(c.StalenessThresholds.WaitingForDependencies),
		"staleness.waiting_for_retry":        bound(c.StalenessThresholds.WaitingForRetry),
		"staleness.steps_in_process":         bound(c.StalenessThresholds.StepsInProcess),
		"staleness.warning_percent":          task.WarningPercent,
		"staleness.batch_size":               int64(c.StalenessDetection.BatchSize),
		"cases.enabled":                      0,
	}
	if c.Cases.Enabled == On {
		s["cases.enabled"] = 1
	}
	for _, r := range task.CaseReasons {
		s["priority_base."+string(r)] = int64(c.Cases.PriorityBases.Of(r))
	}
	for _, p := range c.Priorities {
		s["priority_level."+p.Name] = int64(p.Level)
	}
	return s
}

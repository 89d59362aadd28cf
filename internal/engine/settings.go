package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// SettingsKeeper is a store whose database answers questions by itself, with
// views and functions, for which it has to know some of the configuration.
type SettingsKeeper interface {
	// KeepSettings replaces the numbers that the database goes by.
	KeepSettings(ctx context.Context, settings map[string]int64) error
}

// Settings are the numbers of a Config that has its defaults by which views and
// functions of a database go, by the names that they have there. Times are
// microseconds; 0 is no bound.
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

// KeepSettings tells the database the numbers that its views and functions go by,
// if it has any. Where several processes share it, those of the last are in force.
func (e *Engine) KeepSettings(ctx context.Context) error {
	if k, ok := e.store.(SettingsKeeper); ok {
		settings := e.cfg.Settings()
		settings["staleness.turn"] = e.longestTurn().Microseconds() // of the order in force
		return k.KeepSettings(ctx, settings)
	}
	return nil
}

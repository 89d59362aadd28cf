package engine

import (
	"context"
)

// SettingsKeeper is a store whose database has its own views and functions, which need part of the configuration.
type SettingsKeeper interface {
	// KeepSettings replaces the numbers that the views and functions use.
	KeepSettings(ctx context.Context, settings map[string]int64) error
}

// KeepSettings stores the numbers that the database's views and functions use, if it has any. Where several processes
// share the database, those stored last are in force.
func (e *Engine) KeepSettings(ctx context.Context) error {
	if k, ok := e.store.(SettingsKeeper); ok {
		settings := e.cfg.Settings()
		settings["staleness.turn"] = e.longestTurn().Microseconds() // of the order in force
		return k.KeepSettings(ctx, settings)
	}
	return nil
}

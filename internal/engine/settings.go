package engine

import (
	"context"
)

// SettingsKeeper is a store whose database answers questions by itself, with
// views and functions, for which it has to know some of the configuration.
type SettingsKeeper interface {
	// KeepSettings replaces the numbers that the database goes by.
	KeepSettings(ctx context.Context, settings map[string]int64) error
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

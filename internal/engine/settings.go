package engine

import "context"

// KeepSettings stores numbers for the database's views and functions. The last process wins. Package node calls it
// once after New.
func (e *Engine) KeepSettings(ctx context.Context) error {
	settings := e.cfg.Settings()
	settings["staleness.turn"] = e.longestTurn().Microseconds()
	return e.settingsKeeper.KeepSettings(ctx, settings)
}

package engine

import "context"

// KeepSettings stores the numbers that the database's views and functions use, if it has any.
// Where several processes share the database, those stored last are in force. Package node
// calls it once after New.
func (e *Engine) KeepSettings(ctx context.Context) error {
	settings := e.cfg.Settings()
	settings["staleness.turn"] = e.longestTurn().Microseconds() // of the order in force
	return e.settingsKeeper.KeepSettings(ctx, settings)
}

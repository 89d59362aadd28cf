package kernel

import "context"

// KeepSettings stores numbers for the database's views and functions. The last process wins. Package node calls it
// once after New.
func (e *Kernel) KeepSettings(ctx context.Context) error {
	settings := e.Cfg.Settings()
	settings["staleness.turn"] = e.LongestTurn().Microseconds()
	return e.settingsKeeper.KeepSettings(ctx, settings)
}

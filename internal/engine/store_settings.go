package engine

import "context"

// SettingsKeeper keeps the part of the configuration that the database's own views and functions need.
type SettingsKeeper interface {
	// KeepSettings replaces the numbers that the views and functions use. It does nothing in a database that has none.
	KeepSettings(ctx context.Context, settings map[string]int64) error
}

package kernel

import "context"

// SettingsKeeper keeps numbers of the configuration for the database's views and functions.
type SettingsKeeper interface {
	// KeepSettings does nothing in a database without views.
	KeepSettings(ctx context.Context, settings map[string]int64) error
}

package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

var _ engine.SettingsKeeper = (*Store)(nil)

// KeepSettings implements engine.SettingsKeeper.
func (s *Store) KeepSettings(ctx context.Context, settings map[string]int64) error {
	return s.Write(ctx, func(ctx context.Context, t engine.Tx) error { return t.(*tx).sql.KeepSettings(ctx, settings) })
}

package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
)

// KeepSettings implements engine.SettingsKeeper on the writer: the pool of readers cannot write.
func (s *Store) KeepSettings(ctx context.Context, settings map[string]int64) error {
	return s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return store.In(tx).KeepSettings(ctx, settings) })
}

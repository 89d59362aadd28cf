package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
)

const rebuildEvery = 5 * time.Minute

// indexKeeper is a store whose indexes keep the space of deleted rows.
type indexKeeper interface {
	// RebuildIndex rebuilds a mostly empty index, and returns its name; "" for none.
	RebuildIndex(context.Context) (string, error)
}

// rebuilding returns the loop that keeps a store's indexes small, on one node at a time; none for a store that does
// so itself.
func rebuilding(s engine.Database, log *slog.Logger) []upkeep.Loop {
	k, ok := s.(indexKeeper)
	if !ok {
		return nil
	}
	return []upkeep.Loop{{Name: "indexes", Every: rebuildEvery, Keep: 2 * rebuildEvery, ReadsOnly: true, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			began := time.Now()
			name, err := k.RebuildIndex(ctx)
			if err != nil || name == "" {
				return 0, false, err
			}
			log.Info("rebuilt an index that was mostly empty", "index", name, "took", time.Since(began))
			return 1, true, nil
		}}}
}

package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
)

// rebuildEvery is the interval at which indexes are looked at.
const rebuildEvery = 5 * time.Minute

// indexKeeper is a store whose indexes do not give back the room of what was deleted.
type indexKeeper interface {
	// RebuildIndex builds anew one index that is mostly empty, and returns its name; "" for none.
	RebuildIndex(context.Context) (string, error)
}

// rebuilding returns the loop that keeps the indexes of a store small; none for a store that does so itself. One node
// at a time runs it.
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

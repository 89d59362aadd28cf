package engine

import (
	"context"
	"fmt"
)

// Turns returns which process runs each loop that must run in one process only, by loop. It returns nil for a store
// that belongs to one process, which runs all loops.
func (e *Engine) Turns(ctx context.Context) ([]Turn, error) {
	if e.cluster == nil {
		return nil, nil
	}
	turns, err := e.cluster.Turns(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the turns of processes: %w", err)
	}
	return turns, nil
}

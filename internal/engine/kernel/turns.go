package kernel

import (
	"context"
	"fmt"
)

// Turns returns the process that runs each exclusive loop; nil for a store of one process.
func (e *Kernel) Turns(ctx context.Context) ([]Turn, error) {
	if e.Cluster == nil {
		return nil, nil
	}
	turns, err := e.Cluster.Turns(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the turns of processes: %w", err)
	}
	return turns, nil
}

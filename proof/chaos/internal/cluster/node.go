package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// Node is one server, with its link to the database.
type Node struct {
	*process.Server
	Index   int
	Link    *Link // to PostgreSQL; nil: it goes there itself
	Carrier *Link // to Redis; nil where there is none
	Pool    int   // maximum number of connections; 0: the default

	clock    string
	refusals atomic.Int64
}

const patience = time.Minute

// Revive restarts the node like a supervisor until it listens. It cannot while the database is away.
func (n *Node) Revive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := n.Start(ctx)
		if err == nil {
			return nil
		}
		n.refusals.Add(1)
		if clock.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("start node %d: %w", n.Index, err)
		}
	}
}

// Refusals is how often the node ended instead of coming up.
func (n *Node) Refusals() int64 { return n.refusals.Load() }

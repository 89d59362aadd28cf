package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// pageSize is the largest page of a Backend.
const pageSize = 1000

// finalStates returns the states of the run's settled tasks, in ten pages for ten thousand. since bounds the
// search; it may be too early, never too late.
func finalStates(ctx context.Context, client *tasker.Client, correlationID string, since time.Time,
) (map[uuid.UUID]tasker.TaskState, error) {
	settled := map[uuid.UUID]tasker.TaskState{}
	filter := tasker.TaskFilter{
		Namespace: namespace, CorrelationID: correlationID, CreatedAfter: &since, Limit: pageSize,
	}
	for {
		page, err := client.Tasks(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list tasks of the demo: %w", err)
		}
		for _, t := range page.Tasks {
			if t.State.Settled() {
				settled[t.TaskUUID] = t.State
			}
		}
		if page.NextCursor == "" {
			return settled, nil
		}
		filter.Cursor = page.NextCursor
	}
}

func open(accepted map[uuid.UUID]bool, settled map[uuid.UUID]tasker.TaskState) int {
	n := 0
	for id := range accepted {
		if _, ok := settled[id]; !ok {
			n++
		}
	}
	return n
}

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// pageSize is the largest page that a Backend gives.
const pageSize = 1000

// finalStates asks the Backend for the state of every task of the run, and returns those that have settled. Ten
// thousand tasks are ten pages. since bounds the search; it may be too early, never too late.
func finalStates(ctx context.Context, client *tasker.Client, correlationID string,
	since time.Time,
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

// open counts the accepted tasks that have not settled.
func open(accepted map[uuid.UUID]bool, settled map[uuid.UUID]tasker.TaskState) int {
	n := 0
	for id := range accepted {
		if _, ok := settled[id]; !ok {
			n++
		}
	}
	return n
}

package load

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker"
)

// Settle waits until all tasks are settled, or limit is over: [crashtest.Check] reports the others.
func Settle(ctx context.Context, client *tasker.Client, retry Retry, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	moving := tasker.TaskFilter{Limit: 1, States: []tasker.TaskState{
		tasker.TaskPending, tasker.TaskInitializing, tasker.TaskEnqueuingSteps, tasker.TaskStepsInProcess,
		tasker.TaskEvaluatingResults,
		tasker.TaskWaitingForDependencies, tasker.TaskWaitingForRetry, tasker.TaskBlockedByFailures,
	}}
	for ctx.Err() == nil {
		page, err := client.Tasks(ctx, moving)
		switch {
		case err == nil && len(page.Tasks) == 0 && page.NextCursor == "":
			return nil
		case err == nil && len(page.Tasks) == 0:
			moving.Cursor = page.NextCursor
			continue
		case err == nil:
			moving.Cursor = ""
			_, err = client.Task(ctx, page.Tasks[0].TaskUUID, 5*time.Second)
		}
		if Lost(err) {
			err = retry(ctx, err)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("wait for what moves: %w", err)
		}
	}
	return nil
}

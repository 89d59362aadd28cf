package crashtest

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
)

// Found is the final state of one task on the server.
type Found struct {
	Task    tasker.Task
	Steps   []tasker.Step
	History tasker.TaskHistory
}

const readers = 8

// Read reads all tasks of an idle server, with their steps and histories, eight at a time. An error means that nothing
// can be checked.
func Read(ctx context.Context, b tasker.Backend) ([]Found, error) {
	var all []Found
	filter := tasker.TaskFilter{Limit: 500}
	for {
		page, err := b.Tasks(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		for _, t := range page.Tasks {
			all = append(all, Found{Task: t})
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i := range all {
		group.Go(func() error { return all[i].read(ctx, b) })
	}
	return all, group.Wait()
}

// read completes a listed task; lists omit parts.
func (f *Found) read(ctx context.Context, b tasker.Backend) error {
	id := f.Task.TaskUUID
	t, err := b.Task(ctx, id, 0)
	if err != nil {
		return fmt.Errorf("get task %s: %w", id, err)
	}
	if f.Steps, err = b.Steps(ctx, id); err != nil {
		return fmt.Errorf("list steps of task %s: %w", id, err)
	}
	h, err := b.TaskHistory(ctx, id)
	if err != nil {
		return fmt.Errorf("get history of task %s: %w", id, err)
	}
	f.Task, f.History = *t, *h
	return f.readLarge(ctx, b)
}

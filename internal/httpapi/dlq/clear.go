package dlq

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/dlqapi"
)

type clearQuery struct {
	QueuePath
	ActQuery
}

func (f *family) clear(ctx context.Context, params *clearQuery) (*dlqapi.ClearDone, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	c, err := f.backend.Clear(ctx, name, params.act("no reason given"))
	if err != nil {
		return nil, err
	}
	return cleared(c, fmt.Sprintf("Cleared %d jobs from %s", c.Count, c.Queue)), nil
}

type restoreQuery struct {
	QueuePath
	ActQuery
	ClearedAt time.Time `query:"cleared_at" doc:"Restore only what was cleared at this time: cleared_at of the answer to that. Defaults to all that was cleared and is not deleted yet."`
}

func (f *family) restore(ctx context.Context, params *restoreQuery) (*dlqapi.ClearDone, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	c, err := f.backend.Restore(ctx, name, params.ClearedAt, params.act("restored by /api/dlq"))
	if err != nil {
		return nil, err
	}
	c.At = params.ClearedAt
	return cleared(c, fmt.Sprintf("Restored %d jobs to %s", c.Count, c.Queue)), nil
}

func cleared(c *dlqapi.Cleared, message string) *dlqapi.ClearDone {
	if c.More {
		message += " (hit limit; repeat the request for the rest)"
	}
	out := &dlqapi.ClearDone{Success: true, Message: message, QueueName: c.Queue, Count: c.Count}
	if !c.At.IsZero() {
		out.ClearedAt = &c.At
	}
	return out
}

func (f *family) discardJob(ctx context.Context, params *jobQuery) (*dlqapi.ClearDone, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	queue, err := f.backend.DiscardJob(ctx, name, params.Job, params.act("discarded by /api/dlq"))
	return &dlqapi.ClearDone{Success: true, Message: "Cleared job " + params.Job.String() + " from " + queue,
		QueueName: queue, Count: 1}, err
}

func (f *family) restoreJob(ctx context.Context, params *jobQuery) (*dlqapi.ClearDone, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	queue, err := f.backend.RestoreJob(ctx, name, params.Job, params.act("restored by /api/dlq"))
	return &dlqapi.ClearDone{Success: true, Message: "Restored job " + params.Job.String() + " to " + queue,
		QueueName: queue, Count: 1}, err
}

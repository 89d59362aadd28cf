package dlq

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

type namespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Namespace of the queue. Defaults to that of the key if it has only one, else to default."`
}

func (q *namespaceQuery) namespace() *string { return &q.Namespace }

// QueuePath names a queue. The structs to embed are exported because huma ignores others.
type QueuePath struct{ dlqapi.Name }

func (q *QueuePath) namespace() *string { return &q.Namespace }

const detection, analysis = "dlq:detection_queue", "dlq:analysis_queue"

func (f *family) stats(ctx context.Context, params *namespaceQuery) (*dlqapi.Stats, error) {
	queues, err := f.backend.Queues(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	out := &dlqapi.Stats{Queues: endpoint.List(queues)}
	for _, q := range queues {
		switch q.Name {
		case detection:
			out.Detection += q.Count
		case analysis:
			out.Analysis += q.Count
		}
		out.Total += q.Count
	}
	return out, nil
}

type jobsQuery struct {
	QueuePath
	Start int `query:"start" minimum:"0" maximum:"1000000" default:"0" doc:"Jobs to leave out, from the oldest."`
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size. A page of large jobs is shorter."`
}

func (f *family) jobs(ctx context.Context, params *jobsQuery) (*dlqapi.Page, error) {
	return f.backend.Jobs(ctx, params.Name, params.Start, params.Limit)
}

// ActQuery has the actor and the reason; these requests have no body.
type ActQuery struct {
	Actor  string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason string `query:"reason" maxLength:"1024" doc:"Reason of the act."`
}

// act requires a reason: each job keeps one.
func (q *ActQuery) act(reason string) deadletters.Act {
	return deadletters.Act{Actor: q.Actor, Reason: cmp.Or(q.Reason, reason)}
}

type clearQuery struct {
	QueuePath
	ActQuery
}

func (f *family) clear(ctx context.Context, params *clearQuery) (*dlqapi.ClearDone, error) {
	c, err := f.backend.Clear(ctx, params.Name, params.act("no reason given"))
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
	c, err := f.backend.Restore(ctx, params.Name, params.ClearedAt, params.act("restored by /api/dlq"))
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

// JobQuery names a job of a queue.
type JobQuery struct {
	QueuePath
	Job uuid.UUID `path:"job_id" doc:"The job_id of the job."`
	ActQuery
}

func (f *family) discardJob(ctx context.Context, params *JobQuery) (*dlqapi.ClearDone, error) {
	queue, err := f.backend.DiscardJob(ctx, params.Name, params.Job, params.act("discarded by /api/dlq"))
	return &dlqapi.ClearDone{Success: true, Message: "Cleared job " + params.Job.String() + " from " + queue,
		QueueName: queue, Count: 1}, err
}

func (f *family) restoreJob(ctx context.Context, params *JobQuery) (*dlqapi.ClearDone, error) {
	queue, err := f.backend.RestoreJob(ctx, params.Name, params.Job, params.act("restored by /api/dlq"))
	return &dlqapi.ClearDone{Success: true, Message: "Restored job " + params.Job.String() + " to " + queue,
		QueueName: queue, Count: 1}, err
}

package dlq

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dlqapi"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

// NamespaceQuery names a namespace. It is exported because huma ignores unexported embedded structs.
type NamespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Namespace of the queue. Defaults to that of the key if it has only one, else to default."`
}

func (q *NamespaceQuery) namespace(ctx context.Context) (string, error) {
	return endpoint.OwnNamespace(ctx, q.Namespace, "query.namespace")
}

// QueuePath names a queue.
type QueuePath struct {
	Queue string `path:"queue_name" maxLength:"255" doc:"Queue of a source, such as dlq:orders; dlq: may be left out. Or the name of a source."`
	NamespaceQuery
}

// name returns the name of the queue, or refuses its namespace.
func (q *QueuePath) name(ctx context.Context) (dlqapi.Name, error) {
	namespace, err := q.namespace(ctx)
	return dlqapi.Name{Namespace: namespace, Queue: q.Queue}, err
}

// The queues that the statistics count on their own.
const detection, analysis = "dlq:detection_queue", "dlq:analysis_queue"

func (f *family) stats(ctx context.Context, params *NamespaceQuery) (*dlqapi.Stats, error) {
	namespace, err := params.namespace(ctx)
	if err != nil {
		return nil, err
	}
	queues, err := f.backend.Queues(ctx, namespace)
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
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Jobs(ctx, name, params.Start, params.Limit)
}

// ActQuery says who acts and why. These requests have no body.
type ActQuery struct {
	Actor  string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason string `query:"reason" maxLength:"1024" doc:"Reason of the act."`
}

// act returns the act, with a reason where none is given: one is kept with each job.
func (q *ActQuery) act(reason string) deadletters.Act {
	if q.Reason != "" {
		reason = q.Reason
	}
	return deadletters.Act{Actor: q.Actor, Reason: reason}
}

// Package dlq is the compatibility family /api/dlq: dead letters as failed jobs of queues, in the words of systems that
// keep them in lists of Redis. It is a view of the inbox. The JSON types are in package dlqapi.
package dlq

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Options are the settings of the family.
type Options struct {
	MaxRequeue int
	// KeyInQuery accepts an API key as the parameter api_key of a changing request, too.
	KeyInQuery bool
}

// DefaultMaxRequeue is the default of Options.MaxRequeue.
const DefaultMaxRequeue = 10_000

type family struct {
	backend    dlqapi.Backend // nil: none
	maxRequeue int
}

// Routes adds the family to an API. Without a backend its routes answer unavailable.
func Routes(api *endpoint.API, backend dlqapi.Backend, opts Options) {
	if opts.MaxRequeue <= 0 {
		opts.MaxRequeue = DefaultMaxRequeue
	}
	f := &family{backend, opts.MaxRequeue}
	may := func(p ...access.Permission) []access.Permission { return p }
	get, post, del := endpoint.Get, endpoint.Post, endpoint.Delete
	look, read := may(access.Read, access.DeadLettersRead), may(access.DeadLettersRead)
	redrive, discard := may(access.DeadLettersRedrive), may(access.DeadLettersDiscard)
	changes := endpoint.Conflicts
	if opts.KeyInQuery {
		changes |= endpoint.KeyInQuery
	}
	posted := changes | endpoint.BodyOptional
	type (
		none    = endpoint.None
		nothing = endpoint.Nothing
	)

	add[none](api, f, get("/api/dlq/stats", "get-dlq-stats", "Count the jobs in dead letter queues", look, 0), f.stats)
	add[none](api, f, get("/api/dlq/jobs/{queue_name}", "list-dlq-jobs",
		"List the jobs in a dead letter queue, oldest first", read, endpoint.Conflicts), f.jobs)

	add[nothing](api, f, post("/api/dlq/requeue/{queue_name}", "requeue-dlq-job",
		"Send the oldest job of a dead letter queue back", redrive, posted), f.requeueOldest)
	add[nothing](api, f, post("/api/dlq/requeue/{queue_name}/{job_id}", "requeue-dlq-job-by-id",
		"Send one job of a dead letter queue back", redrive, posted), f.requeueJob)
	add[nothing](api, f, post("/api/dlq/requeue-all/{queue_name}", "requeue-dlq-jobs",
		"Send the jobs of a dead letter queue back, the oldest first", redrive, posted), f.requeueAll)
	add[nothing](api, f, post("/api/dlq/move/{queue_name}", "move-dlq-job",
		"Send the oldest job of a dead letter queue to another queue", redrive, posted), f.moveOldest)
	add[nothing](api, f, post("/api/dlq/move/{queue_name}/{job_id}", "move-dlq-job-by-id",
		"Send one job of a dead letter queue to another queue", redrive, posted), f.moveJob)

	add[none](api, f, del("/api/dlq/{queue_name}", "clear-dlq", "Discard all jobs of a dead letter queue", discard,
		changes), f.clear)
	add[none](api, f, del("/api/dlq/jobs/{queue_name}/{job_id}", "discard-dlq-job",
		"Discard one job of a dead letter queue", discard, changes), f.discardJob)
	add[nothing](api, f, post("/api/dlq/restore/{queue_name}", "restore-dlq",
		"Take back that a dead letter queue was cleared", discard, posted), f.restore)
	add[nothing](api, f, post("/api/dlq/restore/{queue_name}/{job_id}", "restore-dlq-job",
		"Take back that a job was discarded", discard, posted), f.restoreJob)
}

type spaced[P any] interface {
	*P
	namespace() *string
}

// add registers an operation. The namespace defaults to the key's. B is endpoint.Nothing for a POST, else
// endpoint.None.
func add[B, P, R any, S spaced[P]](api *endpoint.API, f *family, e endpoint.Endpoint,
	h func(ctx context.Context, params *P) (R, error),
) {
	endpoint.AddLetters(api, f.backend != nil, e, func(ctx context.Context, params *P, _ *B) (answer R, err error) {
		namespace := S(params).namespace()
		if *namespace, err = endpoint.OwnNamespace(ctx, *namespace, "query.namespace"); err != nil {
			return answer, err
		}
		return h(ctx, params)
	})
}

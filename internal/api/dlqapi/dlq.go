// Package dlqapi has the JSON types of the compatibility family /api/dlq and the interface that its routes need. It
// uses the names of systems that keep failed jobs in lists of Redis. The jobs are dead letters; the family adds no
// state and no rule.
package dlqapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
)

// Backend offers dead letter queues by name. Its methods are safe for concurrent use and return *tasker.Error.
// CodeNotFound: no such queue, or one outside the key's namespaces. CodeUnavailable: a broker does not answer; its
// queue is never shown as empty.
type Backend interface {
	Queues(ctx context.Context, namespace string) ([]Queue, error)
	Jobs(ctx context.Context, of Name, start, limit int) (*Page, error)
	Requeue(ctx context.Context, of Name, req Requeue) (*Requeued, error)
	// Restore undoes the Clear of a time, or every Clear (zero).
	Clear(ctx context.Context, of Name, act deadletters.Act) (*Cleared, error)
	Restore(ctx context.Context, of Name, at time.Time, act deadletters.Act) (*Cleared, error)
	DiscardJob(ctx context.Context, of Name, id uuid.UUID, act deadletters.Act) (queue string, err error)
	RestoreJob(ctx context.Context, of Name, id uuid.UUID, act deadletters.Act) (queue string, err error)
}

// Name names a queue: the queue of a source, with or without the prefix dlq:, or the source itself.
type Name struct {
	Queue     string `path:"queue_name" maxLength:"255" doc:"Queue of a source, such as dlq:orders; dlq: may be left out. Or the name of a source."`
	Namespace string `query:"namespace" maxLength:"255" doc:"Namespace of the queue. Defaults to that of the key if it has only one, else to default."`
}

// Queue is a dead letter queue and the number of its jobs.
type Queue struct {
	Name        string `json:"queue_name" doc:"Queue that a source reads, or the name of a source that programs report to."`
	Count       int64  `json:"count" doc:"Jobs: open dead letters, and messages on the broker that are not captured yet. Letters are counted up to 1,000,000."`
	CountCapped bool   `json:"count_capped,omitempty" doc:"Whether there are more."`
}

// Stats is the answer of GET /api/dlq/stats.
type Stats struct {
	Detection int64   `json:"detection_queue_count" doc:"Jobs in dlq:detection_queue; 0 without such a queue."`
	Analysis  int64   `json:"analysis_queue_count" doc:"Jobs in dlq:analysis_queue; 0 without such a queue."`
	Total     int64   `json:"total_count" doc:"Jobs in all dead letter queues of the namespace."`
	Queues    []Queue `json:"queues" doc:"All dead letter queues of the namespace, by name."`
}

// Job is a failed job: the fields of a JobFailure, and those that identify it.
type Job struct {
	OriginalJob   json.RawMessage `json:"original_job" doc:"The job. One that is no JSON is a string, and one that is no text an object with its base64."`
	Error         string          `json:"error" doc:"Last error message."`
	AttemptCount  int             `json:"attempt_count" doc:"Attempts of its consumers, in all."`
	FirstFailedAt string          `json:"first_failed_at" format:"date-time"`
	LastFailedAt  string          `json:"last_failed_at" format:"date-time"`
	QueueName     string          `json:"queue_name" doc:"Queue that the job came from."`
	ErrorType     *string         `json:"error_type"`
	StackTrace    *string         `json:"stack_trace" doc:"At most 4,096 bytes."`
	HTTPStatus    *int            `json:"http_status"`
	ResponseBody  *string         `json:"response_body" doc:"At most 2,048 bytes."`
	RetryDelays   json.RawMessage `json:"retry_delays" doc:"List of the delays between the attempts, in seconds; or null."`
	Context       json.RawMessage `json:"context" doc:"State of the system when the job failed; or null."`

	ID      uuid.UUID `json:"job_id" doc:"UUID of the dead letter: by it one job is requeued, moved, discarded or restored."`
	State   string    `json:"state" enum:"open,scheduled" doc:"scheduled: a policy sends it back."`
	Replays int       `json:"requeue_count" doc:"Times that it was sent back."`
	Parked  bool      `json:"parked" doc:"It was sent back too often: requeue-all leaves it out."`

	// Not part of the JSON.
	Namespace string `json:"-"`
	Source    string `json:"-"`
}

// Pagination says where a page is.
type Pagination struct {
	Total       int  `json:"total" doc:"Jobs in the queue, up to 1,000,000."`
	TotalCapped bool `json:"total_capped,omitempty" doc:"Whether there are more."`
	Limit       int  `json:"limit"`
	Offset      int  `json:"offset"`
	HasMore     bool `json:"has_more"`
}

// Page is the answer of GET /api/dlq/jobs/{queue_name}.
type Page struct {
	QueueName  string     `json:"queue_name"`
	Items      []Job      `json:"items" doc:"The oldest first."`
	Pagination Pagination `json:"pagination"`
}

// Requeue asks to send jobs back: the named one, or the oldest ones.
type Requeue struct {
	deadletters.Act
	Job           uuid.UUID // uuid.Nil: the oldest, at most Limit
	Limit         int
	IncludeParked bool
	Target        string // "": where they came from
}

// Requeued is the outcome of a Requeue.
type Requeued struct {
	Queue        string
	Target       string // "": each job went where it came from
	Sent, Failed int
	Pending      int // the time was up; the redrives continue
	Skipped      int // others were faster
	Parked       int // left out; counted if nothing was sent
	More         bool
	Why          string // the first failure
	RedriveUUIDs []uuid.UUID
}

// Cleared is the outcome of a Clear or a Restore.
type Cleared struct {
	Queue string
	Count int
	At    time.Time
	More  bool
}

// Done is the answer of requests that change a queue.
type Done struct {
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Job     json.RawMessage `json:"job" doc:"Always null."`

	Requeued     int         `json:"requeued" doc:"Jobs that were sent back."`
	Failed       int         `json:"failed" doc:"Jobs that could not be sent; they are still in the queue."`
	Pending      int         `json:"pending" doc:"Jobs that are sent later, since the time of the request was up."`
	RedriveUUIDs []uuid.UUID `json:"redrive_uuids" doc:"The redrives that sent them, with the result of each job."`
}

// ClearDone is the answer of requests that clear or restore a queue.
type ClearDone struct {
	Success   bool       `json:"success"`
	Message   string     `json:"message"`
	QueueName string     `json:"queue_name"`
	Count     int        `json:"count" doc:"Jobs that were changed."`
	ClearedAt *time.Time `json:"cleared_at" doc:"Identifies this clearing for restore; null for a single job."`
}

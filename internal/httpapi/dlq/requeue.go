package dlq

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/dlqapi"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/wording"
)

// ParkedQuery admits jobs that were sent back too often.
type ParkedQuery struct {
	IncludeParked bool `query:"include_parked" doc:"Send parked jobs too: those that were sent back as often as their source allows."`
}

// JobPath names a job of a queue.
type JobPath struct {
	QueuePath
	Job uuid.UUID `path:"job_id" doc:"The job_id of the job."`
}

// TargetQuery names the queue to which a job is moved.
type TargetQuery struct {
	Target string `query:"target_queue" required:"true" minLength:"1" maxLength:"255" doc:"Queue to send the job to. The source must list it among its targets, unless the job came from there."`
}

// oldestQuery, jobQuery and the like are the parameters of the operations.
type (
	oldestQuery struct {
		QueuePath
		ActQuery
		ParkedQuery
	}
	jobQuery struct {
		JobPath
		ActQuery
	}
	moveQuery struct {
		QueuePath
		ActQuery
		ParkedQuery
		TargetQuery
	}
	moveJobQuery struct {
		JobPath
		ActQuery
		TargetQuery
	}
)

func (f *family) requeueOldest(ctx context.Context, params *oldestQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, &params.QueuePath, &params.ActQuery, dlqapi.Requeue{Limit: 1,
		IncludeParked: params.IncludeParked})
}

// requeueJob serves POST /api/dlq/requeue/{queue_name}/{job_id}. A job that is named is sent although it is parked.
func (f *family) requeueJob(ctx context.Context, params *jobQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, &params.QueuePath, &params.ActQuery, dlqapi.Requeue{Job: params.Job, Limit: 1})
}

func (f *family) requeueAll(ctx context.Context, params *oldestQuery) (*dlqapi.Done, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	done, err := f.backend.Requeue(ctx, name, dlqapi.Requeue{Act: params.act("requeued by /api/dlq"),
		Limit: f.maxRequeue, IncludeParked: params.IncludeParked})
	if err != nil {
		return nil, err
	}
	if done.Sent+done.Failed+done.Pending == 0 {
		return answer(done, noJobs(done)), nil
	}
	message := fmt.Sprintf("Requeued %d jobs from %s%s", done.Sent, done.Queue, to(done.Target))
	if done.More {
		message += fmt.Sprintf(" (hit limit of %d)", f.maxRequeue)
	}
	return answer(done, message+leftovers(done)), nil
}

func (f *family) moveOldest(ctx context.Context, params *moveQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, &params.QueuePath, &params.ActQuery, dlqapi.Requeue{Limit: 1,
		IncludeParked: params.IncludeParked, Target: params.Target})
}

func (f *family) moveJob(ctx context.Context, params *moveJobQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, &params.QueuePath, &params.ActQuery, dlqapi.Requeue{Job: params.Job, Limit: 1,
		Target: params.Target})
}

// requeue sends one job back.
func (f *family) requeue(ctx context.Context, path *QueuePath, act *ActQuery, req dlqapi.Requeue) (*dlqapi.Done,
	error,
) {
	name, err := path.name(ctx)
	if err != nil {
		return nil, err
	}
	req.Act = act.act("requeued by /api/dlq")
	done, err := f.backend.Requeue(ctx, name, req)
	if err != nil {
		return nil, err
	}
	if done.Sent+done.Pending == 0 {
		return answer(done, noJobs(done)), nil
	}
	return answer(done, fmt.Sprintf("Job requeued from %s%s", done.Queue, to(done.Target))+leftovers(done)), nil
}

// answer returns the answer to a request. It is a success if all was sent that the request asked for.
func answer(done *dlqapi.Requeued, message string) *dlqapi.Done {
	return &dlqapi.Done{Success: done.Sent > 0 && done.Failed+done.Pending == 0, Message: message, Requeued: done.Sent,
		Failed: done.Failed, Pending: done.Pending, RedriveUUIDs: endpoint.List(done.RedriveUUIDs)}
}

// to names the target of jobs, where there is one for all.
func to(target string) string {
	if target == "" {
		return ""
	}
	return " to " + target
}

func noJobs(done *dlqapi.Requeued) string {
	message := "No jobs to requeue from " + done.Queue
	switch {
	case done.Parked > 0:
		message += ": " + wording.Count(done.Parked, "job") + " sent back too often; requeue by job_id or with include_parked"
	case done.Skipped > 0:
		message += ": others are sending them back"
	}
	return message
}

func leftovers(done *dlqapi.Requeued) string {
	message := ""
	if done.Failed > 0 {
		message += fmt.Sprintf("; %d could not be sent: %s", done.Failed, done.Why)
	}
	if done.Pending > 0 {
		message += fmt.Sprintf("; %d will be sent", done.Pending)
	}
	return message
}

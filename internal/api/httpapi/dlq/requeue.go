package dlq

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// TargetQuery names the queue to which a job is moved.
type TargetQuery struct {
	Target string `query:"target_queue" required:"true" minLength:"1" maxLength:"255" doc:"Queue to send the job to. The source must list it among its targets, unless the job came from there."`
}

// OldestQuery selects the oldest jobs of a queue; jobs sent back too often only if it admits them.
type OldestQuery struct {
	QueuePath
	ActQuery
	IncludeParked bool `query:"include_parked" doc:"Send parked jobs too: those that were sent back as often as their source allows."`
}

type moveQuery struct {
	OldestQuery
	TargetQuery
}

type moveJobQuery struct {
	JobQuery
	TargetQuery
}

func (f *family) requeueOldest(ctx context.Context, params *OldestQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, params.Name, &params.ActQuery, dlqapi.Requeue{IncludeParked: params.IncludeParked})
}

func (f *family) requeueJob(ctx context.Context, params *JobQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, params.Name, &params.ActQuery, dlqapi.Requeue{Job: params.Job})
}

func (f *family) moveOldest(ctx context.Context, params *moveQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, params.Name, &params.ActQuery, dlqapi.Requeue{IncludeParked: params.IncludeParked,
		Target: params.Target})
}

func (f *family) moveJob(ctx context.Context, params *moveJobQuery) (*dlqapi.Done, error) {
	return f.requeue(ctx, params.Name, &params.ActQuery, dlqapi.Requeue{Job: params.Job, Target: params.Target})
}

const requeuedBy = "requeued by /api/dlq"

func (f *family) requeue(ctx context.Context, of dlqapi.Name, act *ActQuery, req dlqapi.Requeue) (*dlqapi.Done, error) {
	req.Act, req.Limit = act.act(requeuedBy), 1
	done, err := f.backend.Requeue(ctx, of, req)
	if err != nil {
		return nil, err
	}
	if done.Sent+done.Pending == 0 {
		return answer(done, noJobs(done)), nil
	}
	return answer(done, "Job requeued from "+done.Queue+to(done.Target)+leftovers(done)), nil
}

func (f *family) requeueAll(ctx context.Context, params *OldestQuery) (*dlqapi.Done, error) {
	done, err := f.backend.Requeue(ctx, params.Name, dlqapi.Requeue{Act: params.act(requeuedBy),
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

func answer(done *dlqapi.Requeued, message string) *dlqapi.Done {
	return &dlqapi.Done{Success: done.Sent > 0 && done.Failed+done.Pending == 0, Message: message, Requeued: done.Sent,
		Failed: done.Failed, Pending: done.Pending, RedriveUUIDs: endpoint.List(done.RedriveUUIDs)}
}

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

package workers

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/internal/api/httpapi/taskworker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Workers written for a queue of tasks send its bodies to /internal/workers. A field that the protocol's own bodies
// lack identifies them, and the answer uses the same words.

// taskBody is a body that names a task by task_id, or the protocol's own; then task is nil.
type taskBody[Own, Task any] struct {
	own  Own
	task *Task
}

func (b *taskBody[Own, Task]) UnmarshalJSON(data []byte) error {
	if namesTask(data) {
		b.task = new(Task)
		return json.Unmarshal(data, b.task)
	}
	return json.Unmarshal(data, &b.own)
}

// Schema has the protocol's own form last: a body that matches neither most likely means it.
func (taskBody[Own, Task]) Schema(r huma.Registry) *huma.Schema {
	own := endpoint.SchemaOf[Own](r)
	if len(own.OneOf) > 0 { // the checker does not support nested alternatives
		return &huma.Schema{OneOf: append([]*huma.Schema{endpoint.SchemaOf[Task](r)}, own.OneOf...)}
	}
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[Task](r), own}}
}

// namesTask reports whether a document has the property task_id. Few documents contain the word.
func namesTask(data []byte) bool {
	if !bytes.Contains(data, []byte(`"task_id"`)) {
		return false
	}
	var probe struct {
		TaskID json.RawMessage `json:"task_id"`
	}
	return json.Unmarshal(data, &probe) == nil && probe.TaskID != nil
}

// eitherAnswer is an answer in either form.
type eitherAnswer[Own, Task any] struct{ body any }

func (eitherAnswer[Own, Task]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[Own](r), endpoint.SchemaOf[Task](r)}}
}

func (a eitherAnswer[Own, Task]) Unwrap() any { return a.body }

func either[Own, Task, B any](answer B, err error) (eitherAnswer[Own, Task], error) {
	return eitherAnswer[Own, Task]{answer}, err
}

type (
	startForms    = taskBody[stepworker.StartBody, taskworker.QueueStart]
	progressForms = taskBody[protocol.ProgressReport, taskworker.QueueProgress]
)

type resultForms struct {
	taskBody[stepworker.ResultBody, taskworker.QueueResult]
}

func (f *family) start(ctx context.Context, params *stepworker.Path, body *startForms,
) (eitherAnswer[stepworker.LeaseList, taskworker.QueueLease], error) {
	if body.task != nil {
		return either[stepworker.LeaseList, taskworker.QueueLease](f.tasks.Start(ctx, params, body.task))
	}
	return either[stepworker.LeaseList, taskworker.QueueLease](f.steps.Start(ctx, params, &body.own))
}

func (f *family) progress(ctx context.Context, params *stepworker.Path, body *progressForms,
) (eitherAnswer[protocol.LeaseAnswer, taskworker.QueueLease], error) {
	if body.task != nil {
		return either[protocol.LeaseAnswer, taskworker.QueueLease](f.tasks.Progress(ctx, params, body.task))
	}
	return either[protocol.LeaseAnswer, taskworker.QueueLease](f.steps.Progress(ctx, params, &body.own))
}

func (f *family) result(ctx context.Context, params *stepworker.Path, body *resultForms,
) (eitherAnswer[endpoint.Results[protocol.SettleAnswer], taskworker.QueueSettled], error) {
	if body.task != nil {
		return either[endpoint.Results[protocol.SettleAnswer],
			taskworker.QueueSettled](f.tasks.Result(ctx, params, body.task))
	}
	return either[endpoint.Results[protocol.SettleAnswer], taskworker.QueueSettled](f.steps.Result(ctx, params, &body.own))
}

func (*resultForms) Salvager() func([]byte) (any, bool) {
	own := (*stepworker.ResultBody)(nil).Salvager()
	return func(data []byte) (any, bool) {
		b, can := own(data)
		if !can {
			return nil, false
		}
		return &resultForms{taskBody[stepworker.ResultBody, taskworker.QueueResult]{own: *b.(*stepworker.ResultBody)}}, true
	}
}

type pollOfOne struct {
	WorkerCapabilities []string `json:"worker_capabilities" doc:"The registered capabilities." maxItems:"100"`
	Capacity           int      `json:"capacity,omitempty" doc:"Number of concurrent tasks of the worker; 0 returns none. Each poll returns one." minimum:"0" maximum:"10000" default:"1"`
	WaitMS             int      `json:"wait_ms,omitempty" doc:"Maximum wait for a task (long poll)." minimum:"0"`
}

type pollOfMany struct {
	Capabilities      []string `json:"capabilities" doc:"The registered capabilities." maxItems:"100"`
	AvailableCapacity *int     `json:"available_capacity,omitempty" doc:"Maximum number of tasks. Defaults to 1; 0 returns none." minimum:"0" maximum:"10000"`
	WaitMS            int      `json:"wait_ms,omitempty" doc:"Maximum wait for tasks (long poll)." minimum:"0"`
	Start             bool     `json:"start,omitempty" doc:"Return tasks already started; they need no start call."`
}

// pollForms is a protocol.PollRequest, or a poll in the words of the queue.
type pollForms struct {
	own  protocol.PollRequest
	task *taskworker.QueuePoll
	one  bool
}

func (pollForms) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[pollOfOne](r), endpoint.SchemaOf[pollOfMany](r),
		endpoint.SchemaOf[protocol.PollRequest](r)}}
}

func (b *pollForms) UnmarshalJSON(data []byte) error {
	if !bytes.Contains(data, []byte(`capabilities"`)) {
		return json.Unmarshal(data, &b.own)
	}
	b.task = &taskworker.QueuePoll{}
	if err := json.Unmarshal(data, b.task); err != nil {
		return err
	}
	if b.one = b.task.WorkerCapabilities != nil; b.one {
		// The queue has no separate start of a task.
		b.task.Start = true
		if one := 1; b.task.Capacity == nil || *b.task.Capacity > one {
			b.task.Capacity = &one
		}
	}
	return nil
}

type pollPath struct {
	ID    uuid.UUID `path:"id" doc:"worker_id of the registration."`
	Shape string    `query:"shape" enum:"object,array" doc:"Shape of the response to a poll with capabilities: an object with tasks, or the bare array. Defaults to object."`
}

// taskPolled repeats the first task, for a worker that takes one at a time.
type taskPolled struct {
	TaskID         *uuid.UUID                   `json:"task_id,omitempty" doc:"For a poll with worker_capabilities: the task, which is also in tasks."`
	TaskType       string                       `json:"task_type,omitempty"`
	Parameters     json.RawMessage              `json:"parameters,omitempty"`
	TimeoutSeconds int                          `json:"timeout_seconds,omitempty"`
	TraceID        string                       `json:"trace_id,omitempty"`
	Tasks          []taskworker.QueueAssignment `json:"tasks"`
	ShouldDrain    bool                         `json:"should_drain" doc:"Finish the current work; no more will be assigned."`
	protocol.BreakerNote
}

type pollAnswers struct{ body any }

func (pollAnswers) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		endpoint.SchemaOf[protocol.PollResponse](r), endpoint.SchemaOf[taskPolled](r),
		{Type: huma.TypeArray, Items: endpoint.SchemaOf[taskworker.QueueAssignment](r)},
	}}
}

func (a pollAnswers) Unwrap() any { return a.body }

// poll answers in the form of the body: steps for the protocol, tasks for the queue, as an object or a bare array.
func (f *family) poll(ctx context.Context, params *pollPath, body *pollForms) (pollAnswers, error) {
	worker := &stepworker.Path{ID: params.ID}
	if body.task == nil {
		polled, err := f.steps.Poll(ctx, worker, &body.own)
		return pollAnswers{polled}, err
	}
	polled, err := f.tasks.Poll(ctx, worker, body.task)
	if err != nil {
		return pollAnswers{}, err
	}
	tasks := polled.Tasks
	if params.Shape == "array" {
		return pollAnswers{tasks}, nil
	}
	out := taskPolled{Tasks: tasks, ShouldDrain: polled.ShouldDrain, BreakerNote: polled.BreakerNote}
	if body.one && len(tasks) > 0 {
		t := tasks[0]
		out.TaskID, out.TaskType, out.Parameters, out.TimeoutSeconds, out.TraceID = &t.TaskID, t.TaskType, t.Parameters,
			t.TimeoutSeconds, t.TraceID
	}
	return pollAnswers{out}, nil
}

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// The worker protocol also understands bodies in the words of the queue: workers written for a queue of tasks send them
// to /internal/workers. A field that the protocol's own bodies do not have identifies them, and the answer uses the
// same words.

// taskBody is a body that names a task by task_id, or is the protocol's own.
type taskBody[Own, Task any] struct {
	own  Own
	task *Task
}

// UnmarshalJSON decides by task_id.
func (b *taskBody[Own, Task]) UnmarshalJSON(data []byte) error {
	if namesTask(data) {
		b.task = new(Task)
		return json.Unmarshal(data, b.task)
	}
	return json.Unmarshal(data, &b.own)
}

// Schema documents both forms. The protocol's own is the last: it is the most likely intention of a body that matches
// neither.
func (taskBody[Own, Task]) Schema(r huma.Registry) *huma.Schema {
	own := schemaOf[Own](r)
	if len(own.OneOf) > 0 { // the checker does not support nested alternatives
		return &huma.Schema{OneOf: append([]*huma.Schema{schemaOf[Task](r)}, own.OneOf...)}
	}
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[Task](r), own}}
}

// namesTask reports whether a document has the property task_id. Few documents contain the word at all.
func namesTask(data []byte) bool {
	if !bytes.Contains(data, []byte(`"task_id"`)) {
		return false
	}
	var probe struct {
		TaskID json.RawMessage `json:"task_id"`
	}
	return json.Unmarshal(data, &probe) == nil && probe.TaskID != nil
}

// eitherAnswer is an answer in the protocol's own words, or in those of the queue.
type eitherAnswer[Own, Task any] struct{ body any }

// Schema documents both forms.
func (eitherAnswer[Own, Task]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[Own](r), schemaOf[Task](r)}}
}

// unwrap returns the body to send.
func (a eitherAnswer[Own, Task]) unwrap() any { return a.body }

// unwrapper is a body that stands for another.
type unwrapper interface{ unwrap() any }

// sent returns the body to send for a body.
func sent(body any) any {
	if w, is := body.(unwrapper); is {
		return w.unwrap()
	}
	return body
}

// either is an answer of one of two forms.
func either[Own, Task, B any](a answer[B], err error) (answer[eitherAnswer[Own, Task]], error) {
	return answer[eitherAnswer[Own, Task]]{a.status, a.location, eitherAnswer[Own, Task]{a.body}}, err
}

// The bodies of the verbs with both forms.
type (
	startForms    = taskBody[startBody, queueStart]
	progressForms = taskBody[tasker.ProgressReport, queueProgress]
)

// resultForms are the forms of a result, or of many.
type resultForms struct {
	taskBody[resultBody, queueResult]
}

func (s *server) startEither(
	ctx context.Context, params *workerPath, body *startForms,
) (answer[eitherAnswer[leaseList, queueLease]], error) {
	if body.task != nil {
		return either[leaseList, queueLease](s.startQueueTask(ctx, params, body.task))
	}
	return either[leaseList, queueLease](s.start(ctx, params, &body.own))
}

func (s *server) progressEither(
	ctx context.Context, params *workerPath, body *progressForms,
) (answer[eitherAnswer[tasker.LeaseAnswer, queueLease]], error) {
	if body.task != nil {
		return either[tasker.LeaseAnswer, queueLease](s.progressOfQueueTask(ctx, params, body.task))
	}
	return either[tasker.LeaseAnswer, queueLease](s.progress(ctx, params, &body.own))
}

func (s *server) resultEither(
	ctx context.Context, params *workerPath, body *resultForms,
) (answer[eitherAnswer[results[tasker.SettleAnswer], queueSettled]], error) {
	if body.task != nil {
		return either[results[tasker.SettleAnswer], queueSettled](s.resultOfQueueTask(ctx, params, body.task))
	}
	return either[results[tasker.SettleAnswer], queueSettled](s.result(ctx, params, &body.own))
}

// salvager accepts the valid results of a request; see resultBody.
func (*resultForms) salvager() func([]byte) (any, bool) {
	own := (*resultBody)(nil).salvager()
	return func(data []byte) (any, bool) {
		b, can := own(data)
		if !can {
			return nil, false
		}
		return &resultForms{taskBody[resultBody, queueResult]{own: *b.(*resultBody)}}, true
	}
}

// pollOfOne requests one task, in the words of a worker that takes one at a time.
type pollOfOne struct {
	WorkerCapabilities []string `json:"worker_capabilities" doc:"The registered capabilities." maxItems:"100"`
	Capacity           int      `json:"capacity,omitempty" doc:"Number of concurrent tasks of the worker; 0 returns none. Each poll returns one." minimum:"0" maximum:"10000" default:"1"`
	WaitMS             int      `json:"wait_ms,omitempty" doc:"Maximum wait for a task (long poll)." minimum:"0"`
}

// pollOfMany requests tasks, in the words of a worker that takes several.
type pollOfMany struct {
	Capabilities      []string `json:"capabilities" doc:"The registered capabilities." maxItems:"100"`
	AvailableCapacity *int     `json:"available_capacity,omitempty" doc:"Maximum number of tasks. Defaults to 1; 0 returns none." minimum:"0" maximum:"10000"`
	WaitMS            int      `json:"wait_ms,omitempty" doc:"Maximum wait for tasks (long poll)." minimum:"0"`
	Start             bool     `json:"start,omitempty" doc:"Return tasks already started; they need no start call."`
}

// pollForms is a tasker.PollRequest, or a poll in the words of the queue.
type pollForms struct {
	own  tasker.PollRequest
	task *queuePoll
	one  bool
}

// Schema documents the forms.
func (pollForms) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[pollOfOne](r), schemaOf[pollOfMany](r),
		schemaOf[tasker.PollRequest](r)}}
}

// UnmarshalJSON decides by the capabilities, which a poll of the protocol does not have.
func (b *pollForms) UnmarshalJSON(data []byte) error {
	if !bytes.Contains(data, []byte(`capabilities"`)) {
		return json.Unmarshal(data, &b.own)
	}
	b.task = &queuePoll{}
	if err := json.Unmarshal(data, b.task); err != nil {
		return err
	}
	if b.one = b.task.WorkerCapabilities != nil; b.one {
		// the queue has no separate start of a task
		b.task.Start = true
		if one := 1; b.task.Capacity == nil || *b.task.Capacity > one {
			b.task.Capacity = &one
		}
	}
	return nil
}

// pollPath names a worker and the form of its tasks.
type pollPath struct {
	ID    uuid.UUID `path:"id" doc:"worker_id of the registration."`
	Shape string    `query:"shape" enum:"object,array" doc:"Shape of the response to a poll with capabilities: an object with tasks, or the bare array. Defaults to object."`
}

// taskPolled answers a poll in the words of the queue. It repeats the first task for a worker that takes one at a time.
type taskPolled struct {
	TaskID         *uuid.UUID        `json:"task_id,omitempty" doc:"For a poll with worker_capabilities: the task, which is also in tasks."`
	TaskType       string            `json:"task_type,omitempty"`
	Parameters     json.RawMessage   `json:"parameters,omitempty"`
	TimeoutSeconds int               `json:"timeout_seconds,omitempty"`
	TraceID        string            `json:"trace_id,omitempty"`
	Tasks          []queueAssignment `json:"tasks"`
	ShouldDrain    bool              `json:"should_drain" doc:"Finish the current work; no more will be assigned."`
	tasker.BreakerNote
}

// pollAnswers are the forms of an answer to a poll.
type pollAnswers struct{ body any }

// Schema documents the forms.
func (pollAnswers) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		schemaOf[tasker.PollResponse](r), schemaOf[taskPolled](r),
		{Type: huma.TypeArray, Items: schemaOf[queueAssignment](r)},
	}}
}

func (a pollAnswers) unwrap() any { return a.body }

func (s *server) pollEither(ctx context.Context, params *pollPath, body *pollForms) (answer[pollAnswers], error) {
	var no answer[pollAnswers]
	worker := &workerPath{params.ID}
	if body.task == nil {
		polled, err := s.poll(ctx, worker, &body.own)
		return answer[pollAnswers]{polled.status, "", pollAnswers{polled.body}}, err
	}
	polled, err := s.pollQueue(ctx, worker, body.task)
	if err != nil {
		return no, err
	}
	tasks := polled.body.Tasks
	if params.Shape == "array" {
		return ok(pollAnswers{tasks}), nil
	}
	out := taskPolled{Tasks: tasks, ShouldDrain: polled.body.ShouldDrain, BreakerNote: polled.body.BreakerNote}
	if body.one && len(tasks) > 0 {
		t := tasks[0]
		out.TaskID, out.TaskType, out.Parameters, out.TimeoutSeconds, out.TraceID = &t.TaskID, t.TaskType, t.Parameters,
			t.TimeoutSeconds, t.TraceID
	}
	return ok(pollAnswers{out}), nil
}

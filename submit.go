package tasker

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// TaskOption sets a field of a TaskRequest of NewTask or NewHandlerTask. Later options replace earlier ones, except
// WithTags and WithCapabilities, which add. A program may define more.
type TaskOption func(*TaskRequest)

// NewTask returns the request for one run of the template called name, in its last registered version, with the JSON
// of input as the task's context. A nil input means no context; a json.RawMessage is used unchanged.
//
// NewTask stores nothing and never fails: Client.Submit, Client.SubmitTasks and postgres.SubmitTx check the request.
// An input that has no JSON form sets TaskRequest.Err, which they return as CodeInvalid.
func NewTask(name string, input any, opts ...TaskOption) TaskRequest {
	return newRequest(TaskRequest{Name: name}, input, opts)
}

// NewHandlerTask is NewTask without a template: the task has one step, which any worker with the handler runs.
func NewHandlerTask(handler string, input any, opts ...TaskOption) TaskRequest {
	return newRequest(TaskRequest{TaskType: handler}, input, opts)
}

func newRequest(t TaskRequest, input any, opts []TaskOption) TaskRequest {
	switch v := input.(type) {
	case nil:
	case json.RawMessage:
		t.Context = v
	default:
		t.Context, t.Err = json.Marshal(input)
	}
	for _, set := range opts {
		set(&t)
	}
	return t
}

// WithNamespace sets the namespace of the template or handler. Defaults to "default".
func WithNamespace(name string) TaskOption { return func(t *TaskRequest) { t.Namespace = name } }

// WithVersion sets the version of the template. Defaults to the last registered one.
func WithVersion(version string) TaskOption { return func(t *TaskRequest) { t.Version = version } }

// WithPriority sets the priority: High, Medium, Low, the name of another level or a Level. Defaults to that of the
// template, else to Medium.
func WithPriority(p Priority) TaskOption { return func(t *TaskRequest) { t.Priority = p } }

// WithRunAt sets the earliest start, on the server's clock. A past time means now.
func WithRunAt(at time.Time) TaskOption { return func(t *TaskRequest) { t.RunAt = &at } }

// WithDeadline sets the time, on the server's clock, at which an unfinished task is put in error. CodeInvalid: it has
// passed, or is not after the start.
func WithDeadline(at time.Time) TaskOption { return func(t *TaskRequest) { t.DeadlineAt = &at } }

// WithIdempotencyKey makes the submission safe to repeat: for 24 hours, another one with the same key in the same
// namespace returns the receipt of the first task, with Created false. At most 255 bytes.
func WithIdempotencyKey(key string) TaskOption {
	return func(t *TaskRequest) { t.IdempotencyKey = key }
}

// WithUnique sets the rule against duplicate work. Defaults to the rule of the template.
func WithUnique(rule Unique) TaskOption { return func(t *TaskRequest) { t.Unique = &rule } }

// WithOrderingKey makes tasks of a namespace with the same key run one at a time, in the order of submission.
func WithOrderingKey(key string) TaskOption { return func(t *TaskRequest) { t.OrderingKey = key } }

// WithTags adds tags, by which tasks and events are found. At most 32.
func WithTags(tags ...string) TaskOption {
	return func(t *TaskRequest) { t.Tags = append(slices.Clip(t.Tags), tags...) }
}

// WithCorrelationID sets the caller's ID of the work; events carry it.
func WithCorrelationID(id string) TaskOption { return func(t *TaskRequest) { t.CorrelationID = id } }

// WithParentCorrelationID sets the correlation ID of the work that caused this one.
func WithParentCorrelationID(id string) TaskOption {
	return func(t *TaskRequest) { t.ParentCorrelationID = id }
}

// WithInitiator sets the person or system that requests the task. Quotas of users count by it.
func WithInitiator(who string) TaskOption { return func(t *TaskRequest) { t.Initiator = who } }

// WithSourceSystem sets the name of the program that submits.
func WithSourceSystem(name string) TaskOption { return func(t *TaskRequest) { t.SourceSystem = name } }

// WithReason sets the reason for the task, for people. At most 1,024 bytes.
func WithReason(text string) TaskOption { return func(t *TaskRequest) { t.Reason = text } }

// WithTraceParent puts the task into a trace, as a W3C traceparent. Workers receive it.
func WithTraceParent(traceparent string) TaskOption {
	return func(t *TaskRequest) { t.TraceParent = traceparent }
}

// WithCapabilities adds capabilities that a worker must have. Only for NewHandlerTask: a template sets those of its
// steps.
func WithCapabilities(names ...string) TaskOption {
	return func(t *TaskRequest) {
		t.RequiredCapabilities = append(slices.Clip(t.RequiredCapabilities), names...)
	}
}

// WithStepTimeout bounds one attempt of the step, rounded up to seconds. Only for NewHandlerTask. Defaults to that of
// the priority.
func WithStepTimeout(d time.Duration) TaskOption {
	return func(t *TaskRequest) { t.TimeoutSeconds = int(math.Ceil(d.Seconds())) }
}

// WithMaxRetries sets how often the step runs again after its first attempt; 0 means never. Only for NewHandlerTask.
// Defaults to that of the priority.
func WithMaxRetries(n int) TaskOption { return func(t *TaskRequest) { t.MaxRetries = &n } }

// Submit stores one task durably and returns its receipt; Wait and Result wait for its end. Concurrent calls share a
// transaction. For tasks that belong together use SubmitTasks, and in a transaction of your own database
// postgres.SubmitTx of package embedded/postgres.
//
// Receipt.Created is false if the task existed already, under the idempotency key or the unique key. A call without
// an answer (CodeUnavailable) may have taken effect: repeat it with the same idempotency key. Other errors are those
// of SubmitTasks; CodeConflict: a unique rule refuses the task.
func (c *Client) Submit(ctx context.Context, task TaskRequest) (TaskReceipt, error) {
	receipts, err := c.SubmitTasks(ctx, SubmitRequest{Tasks: []TaskRequest{task}})
	if err != nil {
		return TaskReceipt{}, err
	}
	if receipts[0].Error != nil {
		return receipts[0], receipts[0].Error
	}
	return receipts[0], nil
}

// SubmitTasks is the method of the Backend. It refuses all requests if one has an Err, even with ItemErrors: that is
// a mistake in the program.
func (c *Client) SubmitTasks(ctx context.Context, req SubmitRequest) ([]TaskReceipt, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	if c.coder != nil {
		var err error
		if req.Tasks, err = c.EncodeTasks(ctx, req.Tasks); err != nil {
			return nil, err
		}
	}
	return c.Backend.SubmitTasks(ctx, req)
}

// Check returns CodeInvalid with every task whose input has no JSON form (Err). The methods that submit call it. Only
// the server checks the other rules.
func (r *SubmitRequest) Check() error {
	var refused *Error
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Err == nil {
			continue
		}
		if refused == nil {
			refused = Errorf(CodeInvalid, "the input of task %s%s has no JSON form", t.Name, t.TaskType)
			refused.Err = t.Err
		}
		refused.Details = append(refused.Details,
			Detail{Location: fmt.Sprintf("/tasks/%d/context", i), Message: t.Err.Error()})
	}
	if refused == nil {
		return nil
	}
	return refused
}

// Unique is a rule against duplicate work: tasks of one namespace and one template, or task type, whose chosen fields
// are equal share a key. One task guards the key; OnConflict decides about a submission meanwhile. See
// docs/guides/unique.md.
type Unique struct {
	// UniqueByAll, UniqueByTemplate and UniqueByNothing are the words besides pointers such as "/customer/id".
	By     []string `json:"by,omitempty" doc:"JSON pointers to the fields of the context that make tasks equal; or alone all (the whole context, the default), template (nothing: one task of the template or type), none (no rule, although the template has one)." maxItems:"16"`
	Period string   `json:"period,omitempty" doc:"How long a task guards its key at most: a duration from 1s to 720h. Defaults to no bound." maxLength:"32"`
	While  []string `json:"while,omitempty" doc:"Phases in which a task guards its key: unsettled (always), error, complete, resolved_manually; the last two only with a period. Defaults to unsettled and error or, with a period, to all." maxItems:"4"`
	// UniqueReturn, UniqueRefuse or UniqueReplace.
	OnConflict string `json:"on_conflict,omitempty" doc:"What becomes of this submission if another task guards the key: return answers with that task, refuse fails with conflict, replace cancels it if no step of it has begun, else returns it. Defaults to return." enum:"return,refuse,replace"`
}

// Words of Unique.By.
const (
	UniqueByAll      = "all"
	UniqueByTemplate = "template"
	UniqueByNothing  = "none"
)

// Phases of Unique.While.
const (
	UniqueWhileUnsettled        = "unsettled"
	UniqueWhileError            = "error"
	UniqueWhileComplete         = "complete"
	UniqueWhileResolvedManually = "resolved_manually"
)

// Values of Unique.OnConflict.
const (
	UniqueReturn  = "return"
	UniqueRefuse  = "refuse"
	UniqueReplace = "replace"
)

// UniqueMatch is the effect of a unique key on a submission.
type UniqueMatch struct {
	Outcome          string     `json:"outcome" doc:"returned: another task guards the key. refused: likewise, and the receipt has an error. replaced: the task is stored, and the one before it cancelled. superseded: a later submission of the same moment took its place before it was stored." enum:"returned,refused,replaced,superseded"`
	Rule             string     `json:"rule" doc:"Sentence that says which rule matched, and when the key is free."`
	Until            *time.Time `json:"until,omitempty" doc:"End of the period of the task that guards the key."`
	ReplacedTaskUUID *uuid.UUID `json:"replaced_task_uuid,omitempty" doc:"Task that was cancelled, for the outcome replaced."`
}

// TaskUnique is the rule of uniqueness under which a task was stored.
type TaskUnique struct {
	By     []string   `json:"by" doc:"JSON pointers to the chosen fields of the context, or all or template."`
	While  []string   `json:"while" doc:"Phases in which the task guards its key."`
	Until  *time.Time `json:"until,omitempty" doc:"End of its period."`
	Guards *bool      `json:"guards,omitempty" doc:"Whether the task guards its key now. Not in lists."`
}

package submit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Submission requests one task of either the template Name or the handler TaskType. Submit fills in Namespace and
// Meta.Priority.
type Submission struct {
	Name      string
	TaskType  string
	Namespace string // default: DefaultNamespace
	Version   string // default: the newest

	Context  []byte // JSON
	Priority string // a level's name or number; default: the template's, else medium
	// Capabilities, Timeout and MaxRetries are for TaskType only.
	Capabilities []string
	Timeout      time.Duration
	MaxRetries   *int
	RunAt        task.Instant

	IdempotencyKey string
	// Unique is the rule by which an existing task may answer; default: the template's.
	Unique        *task.Unique
	CorrelationID string
	Meta          task.Meta // tasks with one OrderingKey run one after the other

	// Queued marks a submission through the queue API: back-pressure always applies, and the receipt has a position.
	Queued bool
	// Caller is the name of the API key. With Meta.Initiator it identifies the user for back-pressure.
	Caller string
}

// Draft is a checked submission. It holds no rows or locks, so that drafts of many callers can wait for one
// transaction.
type Draft struct {
	In       *Submission
	template *task.Template
	priority int
	steps    []draftStep
	hash     string // "" without an idempotency key
	unique   *uniqueKey
	place    int // position in its call
}

type draftStep struct {
	route       *task.Route // nil without a worker
	priority    int
	maxAttempts int
	timeout     time.Duration
	parents     int
}

func (s *draftStep) routeID() int64 {
	if s.route == nil {
		return kernel.Unrouted
	}
	return s.route.ID
}

// Draft checks a submission. Problems are below the pointer at. Those that need no store come first, and alone. The
// error is the store's.
func (e *Room) Draft(ctx context.Context, in *Submission, at string) (*Draft, []task.Problem, error) {
	problems := e.checkFields(in, at)
	if len(problems) > 0 {
		return nil, problems, nil
	}
	if in.Namespace == "" {
		in.Namespace = kernel.DefaultNamespace
	}
	t, problem, err := e.FindTemplate(ctx, in, at)
	if err != nil || problem != nil {
		return nil, check.One(problem), err
	}
	level, problem := e.levelOf(in, t, at)
	if problem != nil {
		return nil, check.One(problem), nil
	}
	// The answer shows the caller's spelling.
	if in.Priority != "" && in.Priority != e.PriorityName(level) {
		in.Meta.Priority = in.Priority
	}
	if problems, err := e.CheckContext(t, in.Context, at); err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	d := &Draft{In: in, template: t, priority: level, steps: make([]draftStep, len(t.Steps))}
	for i := range t.Steps {
		err := e.draftStep(ctx, d, i)
		if problem := kernel.OverLimit(err, at+d.named()); problem != nil {
			return nil, check.One(problem), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if in.IdempotencyKey != "" {
		if d.hash, err = e.hashOf(in); err != nil {
			return nil, nil, err
		}
	}
	if problem := d.setUnique(at); problem != nil {
		return nil, check.One(problem), nil
	}
	return d, nil, nil
}

func (d *Draft) named() string {
	if d.template.Adhoc {
		return "/task_type"
	}
	return "/name"
}

// draftStep stores a new route. Attempts and timeout come from the submission, else the template, else the priority's
// level.
func (e *Room) draftStep(ctx context.Context, d *Draft, i int) error {
	spec := &d.template.Steps[i]
	priority := d.priority
	if spec.Priority != nil {
		priority = *spec.Priority
	}
	if !spec.Worked() {
		d.steps[i] = draftStep{priority: priority, maxAttempts: 1, parents: len(spec.Parents)}
		return nil
	}
	capabilities := spec.Capabilities
	if d.template.Adhoc {
		capabilities = task.Capabilities(d.In.Capabilities)
	}
	route, fresh, err := e.Catalog.Route(ctx, task.Route{Namespace: d.template.Namespace, Handler: spec.Handler,
		Capabilities: capabilities}, e.Cfg.Limits.Routes)
	if err != nil {
		return fmt.Errorf("store route of %s: %w", spec.Handler, err)
	}
	if fresh {
		e.Publish(kernel.PeerEvents{Registry: true})
	}
	level := e.LevelAt(priority)
	s := draftStep{route: route, priority: priority, maxAttempts: spec.Retry.MaxAttempts, timeout: spec.Timeout,
		parents: len(spec.Parents)}
	if d.In.MaxRetries != nil {
		s.maxAttempts = *d.In.MaxRetries + 1
	}
	if d.In.Timeout > 0 {
		s.timeout = d.In.Timeout
	}
	if s.maxAttempts == 0 {
		s.maxAttempts = level.MaxRetries + 1
	}
	if !spec.Retry.Retryable {
		s.maxAttempts = 1
	}
	if s.timeout == 0 {
		s.timeout = level.Timeout
	}
	d.steps[i] = s
	return nil
}

// FindTemplate returns the template, or the problem with its name. The error is the store's.
func (e *Room) FindTemplate(ctx context.Context, in *Submission, at string) (*task.Template, *task.Problem, error) {
	if in.TaskType != "" {
		t, err := e.Catalog.Adhoc(ctx, in.Namespace, in.TaskType, e.Cfg.Limits.Routes)
		if problem := kernel.OverLimit(err, at+"/task_type"); problem != nil {
			return nil, problem, nil
		}
		return t, nil, err
	}
	t, err := e.Catalog.TemplateNamed(ctx, in.Namespace, in.Name, in.Version)
	if err != nil || t != nil {
		return t, nil, err
	}
	if in.Version != "" {
		return nil, &task.Problem{Location: at + "/version",
			Message: fmt.Sprintf("the template %q has no version %q in namespace %q", in.Name, in.Version, in.Namespace)}, nil
	}
	return nil, &task.Problem{Location: at + "/name",
		Message: fmt.Sprintf("there is no template %q in namespace %q; register it first, or submit a task_type", in.Name,
			in.Namespace)}, nil
}

// levelOf prefers the submission's level, then the template's, then medium.
func (e *Room) levelOf(in *Submission, t *task.Template, at string) (int, *task.Problem) {
	if in.Priority == "" && t.Priority != nil {
		return *t.Priority, nil
	}
	level, ok := e.Level(in.Priority)
	if !ok {
		return 0, &task.Problem{Location: at + "/priority",
			Message: fmt.Sprintf("%q is not a priority: use %s, or a level from 0 to %d", in.Priority, e.LevelNames(),
				task.MaxPriority)}
	}
	return level, nil
}

func (e *Room) CheckContext(t *task.Template, document []byte, at string) ([]task.Problem, error) {
	if problems := e.checkEncoded(t, document, at); len(problems) > 0 {
		return problems, nil
	}
	problems, err := e.checkSchema(t, document, at)
	if len(problems) > 0 {
		explainEncoded(problems, document, at)
	}
	return problems, err
}

// A missing context is checked as null. The check can take long, outside of any transaction.
func (e *Room) checkSchema(t *task.Template, document []byte, at string) ([]task.Problem, error) {
	schema, err := e.Catalog.Schema(t, e.Schemas)
	if task.CodeOf(err) == task.Invalid {
		// registered under higher limits, or damaged
		return []task.Problem{{Location: at + "/name", Message: fmt.Sprintf("the input schema of the template %q, version "+
			"%q, cannot be used (%v); register a new version", t.Name, t.Version, err)}}, nil
	}
	if err != nil || schema == nil {
		return nil, err
	}
	if document == nil {
		document = []byte("null")
	}
	problems := schema.Check(document)
	for i := range problems {
		problems[i].Location = at + "/context" + problems[i].Location
	}
	return problems, nil
}

const (
	maxList = 32
)

// Locations are the API's field names.
func (e *Room) checkFields(in *Submission, at string) []task.Problem {
	var problems []task.Problem
	bad := func(field, format string, args ...any) {
		problems = append(problems, task.Problem{Location: at + "/" + field, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case in.Name == "" && in.TaskType == "":
		bad("name", "name a template (name) or a handler (task_type)")
	case in.Name != "" && in.TaskType != "":
		bad("task_type", "give name or task_type, not both")
	case in.Name != "" && (len(in.Capabilities) > 0 || in.Timeout != 0 || in.MaxRetries != nil):
		bad("name", "required_capabilities, timeout_seconds and max_retries are the template's; they go with task_type only")
	}
	texts := []struct {
		field, value string
		limit        int
	}{
		{"name", in.Name, kernel.MaxName}, {"task_type", in.TaskType, kernel.MaxName},
		{"namespace", in.Namespace, kernel.MaxName},
		{"version", in.Version, kernel.MaxName}, {"idempotency_key", in.IdempotencyKey, kernel.MaxName},
		{"ordering_key", in.Meta.OrderingKey, kernel.MaxName},
		{"correlation_id", in.CorrelationID, kernel.MaxName},
		{"parent_correlation_id", in.Meta.ParentCorrelationID, kernel.MaxName},
		{"initiator", in.Meta.Initiator, kernel.MaxName}, {"source_system", in.Meta.SourceSystem, kernel.MaxName},
		{"priority", in.Priority, kernel.MaxName}, {"reason", in.Meta.Reason, kernel.MaxText},
	}
	for _, t := range texts {
		if fault := task.TextFault(t.value, t.limit); fault != "" {
			bad(t.field, "%s", fault)
		}
	}
	if in.Meta.TraceParent != "" && !task.ValidTraceParent(in.Meta.TraceParent) {
		bad("traceparent", "is not a W3C trace context, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	}
	problems = append(problems, checkList(at+"/tags", in.Meta.Tags)...)
	problems = append(problems, checkList(at+"/required_capabilities", in.Capabilities)...)
	if in.Timeout < 0 || in.Timeout > settings.MaxTimeout {
		bad("timeout_seconds", "must be 0 to %d", int(settings.MaxTimeout.Seconds()))
	}
	if in.MaxRetries != nil && (*in.MaxRetries < 0 || *in.MaxRetries > settings.MaxRetries) {
		bad("max_retries", "must be 0 to %d", settings.MaxRetries)
	}
	if fault := task.InstantFault(in.RunAt); fault != "" {
		bad("run_at", "%s", fault)
	}
	if fault := deadlineFault(in, e.Now()); fault != "" {
		bad("deadline_at", "%s", fault)
	}
	if fault := check.Payload(in.Context, e.Cfg.Limits.PayloadBytes); fault != "" {
		bad("context", "%s", fault)
	}
	if in.Unique != nil {
		problems = append(problems, in.Unique.Faults(at+"/unique")...)
	}
	return problems
}

// deadlineFault returns "" for a valid deadline.
func deadlineFault(in *Submission, now task.Instant) string {
	switch at := in.Meta.Deadline; {
	case at == 0:
		return ""
	case task.InstantFault(at) != "":
		return task.InstantFault(at)
	case at <= now:
		return "must be in the future"
	case at <= in.RunAt:
		return "must be later than run_at"
	}
	return ""
}

func checkList(at string, list []string) []task.Problem {
	if len(list) > maxList {
		return []task.Problem{{Location: at, Message: fmt.Sprintf("has %d entries; the limit is %d", len(list), maxList)}}
	}
	var problems []task.Problem
	for i, s := range list {
		fault := task.TextFault(s, kernel.MaxName)
		if s == "" {
			fault = "must not be empty"
		}
		if fault != "" {
			problems = append(problems, task.Problem{Location: at + "/" + strconv.Itoa(i), Message: fault})
		}
	}
	return problems
}

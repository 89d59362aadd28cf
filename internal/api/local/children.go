package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// StepChildren implements operate.ChildBackend.
func (b *Backend) StepChildren(ctx context.Context, taskID, stepID uuid.UUID, f operate.ChildFilter,
) (*operate.ChildPage, error) {
	limit := f.Limit
	switch most := b.engine.Config().Limits.PageItems; {
	case limit == 0:
		limit = min(defaultPage, most)
	case limit < 0 || limit > most:
		return nil, tasker.Errorf(tasker.CodeInvalid, "limit must be 1 to %d", most)
	}
	filter := engine.ChildFilter{From: f.From, Limit: limit + 1}
	switch f.State {
	case "":
	case operate.ChildRunning, operate.ChildDone, operate.ChildError, operate.ChildGivenUp:
		filter.States = []task.ChildState{task.ChildState(f.State)}
	default:
		return nil, tasker.Errorf(tasker.CodeInvalid,
			"there is no state %q of children: use running, done, error or given_up", f.State)
	}
	if f.From < 0 {
		return nil, tasker.Errorf(tasker.CodeInvalid, "from must not be negative")
	}
	list, err := b.engine.Children(ctx, toID(taskID), toID(stepID), filter)
	if err != nil {
		return nil, ToError(err)
	}
	failures, err := b.engine.ChildFailures(ctx, list)
	if err != nil {
		return nil, ToError(err)
	}
	page := &operate.ChildPage{Children: []operate.Child{}}
	for i, c := range list {
		if i == limit {
			page.Next = c.Index
			break
		}
		child := operate.Child{Index: c.Index, State: operate.ChildState(c.State), Reason: c.Note}
		if !c.Task.IsZero() {
			id := toUUID(c.Task)
			child.TaskUUID = &id
		}
		if f := failures[c.Task]; f != nil && c.State == task.ChildErrored {
			child.Reason = brief(f)
		}
		page.Children = append(page.Children, child)
	}
	return page, nil
}

func brief(f *task.Failure) string {
	if f.Type == "" || f.Type == f.Message {
		return firstLine(f.Message)
	}
	return firstLine(f.Type + ": " + f.Message)
}

func fromParent(of *task.ChildOf) *tasker.TaskParent {
	if of == nil {
		return nil
	}
	return &tasker.TaskParent{TaskUUID: toUUID(of.Task), StepUUID: toUUID(of.Step), Index: of.Index}
}

func (v *view) children(ctx context.Context, s *task.Step, out *tasker.Step) error {
	if v.spec(s).Tasks == nil {
		return nil
	}
	f, err := v.b.engine.FanOut(ctx, s.ID)
	if err != nil || f == nil {
		return ToError(err)
	}
	out.Children = &tasker.StepChildren{Total: max(f.Total, 0), Submitted: f.Submitted, Running: f.Running, Done: f.Done,
		Errors: f.Errored, GivenUp: f.GivenUp}
	return nil
}

func (x *explainer) childrenOf(ctx context.Context, s *task.Step, spec *task.ChildSpec,
) (why, next string, err error) {
	f, err := x.b.engine.FanOut(ctx, s.ID)
	if err != nil {
		return "", "", ToError(err)
	}
	if f == nil {
		return "It waits for its child tasks.", "They are submitted at once.", nil
	}
	named, err := x.namedChildren(ctx, s, f)
	if err != nil {
		return "", "", err
	}
	why = fmt.Sprintf("It waits for its child tasks (%s): %s.%s", spec.Target(), f.Outline(), named)
	may := spec.Tolerated(max(f.Total, 0))
	switch f.Verdict(spec) {
	case task.Stuck:
		return why, fmt.Sprintf("Repair its children in error, then it continues automatically; or cancel them, then it "+
			"fails, because %d may fail. tasker task children lists them.", may), nil
	default:
		return why, "It continues automatically when they have ended.", nil
	}
}

const namedChildren = 3

func (x *explainer) namedChildren(ctx context.Context, s *task.Step, f *task.FanOut) (string, error) {
	state, n, verb := task.ChildRunning, f.Running, "Running"
	if f.Errored > 0 {
		state, n, verb = task.ChildErrored, f.Errored, "In error"
	}
	if n == 0 {
		return "", nil
	}
	list, err := x.b.engine.Children(ctx, s.TaskID, s.ID, engine.ChildFilter{States: []task.ChildState{state},
		Limit: namedChildren})
	if err != nil || len(list) == 0 { // they have moved on meanwhile
		return "", ToError(err)
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = fmt.Sprintf("child %d (task %s)", c.Index, toUUID(c.Task))
	}
	text := fmt.Sprintf(" %s: %s", verb, strings.Join(names, ", "))
	if more := n - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if text += "."; state != task.ChildRunning {
		return text, nil
	}
	held, err := x.heldChild(ctx, list)
	return text + held, err
}

// heldChild explains why the first child without a worker waits; "" if workers run them all.
func (x *explainer) heldChild(ctx context.Context, list []engine.Child) (string, error) {
	for _, c := range list {
		of, err := x.b.ExplainTask(ctx, toUUID(c.Task))
		switch {
		case tasker.ErrorCode(err) == tasker.CodeNotFound: // it has ended, and was deleted
			continue
		case err != nil:
			return "", err
		}
		running := func(s tasker.StepExplanation) bool {
			return s.State == tasker.StepAssigned || s.State == tasker.StepInProgress
		}
		waits := func(s tasker.StepExplanation) bool { return s.State != tasker.StepPending && !running(s) }
		if i := slices.IndexFunc(of.Steps, waits); i >= 0 && !slices.ContainsFunc(of.Steps, running) {
			return fmt.Sprintf(" Step %s of child %d: %s", of.Steps[i].Name, c.Index, of.Steps[i].Why), nil
		}
	}
	return "", nil
}

func childOrigin(of *task.ChildOf) string {
	return fmt.Sprintf("It is child %d of the step %s of the task %s.", of.Index, toUUID(of.Step), toUUID(of.Task))
}

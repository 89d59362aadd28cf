package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTask: reading needs read, submitting submit, acts on steps operate, cancelling submit or operate.
func newTask(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Submit, inspect, repair and cancel tasks",
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newTaskSubmit(s), newTaskList(s), newTaskGet(s), newTaskWait(s), newTaskCancel(s), newTaskEdit(s),
		newTaskExplain(s), newTaskHistory(s), newTaskLogs(s), newTaskResult(s),
		newTaskChildren(s), newTaskSteps(s), newTaskStep(s),
		newTaskResetStep(s), newTaskResolveStep(s), newTaskCompleteStep(s), newTaskApproveStep(s), newTaskRejectStep(s),
	)
	return cmd
}

// stepArgs parses TASK_UUID STEP. A step's name costs a request; an unknown one fails with a hint of the names.
func stepArgs(ctx context.Context, c *tasker.Client, args []string) (task, step uuid.UUID, err error) {
	if task, err = taskArg(args[0]); err != nil {
		return task, step, err
	}
	if step, err = uuid.Parse(args[1]); err == nil {
		return task, step, nil
	}
	steps, err := c.Steps(ctx, task)
	if err != nil {
		return task, step, err
	}
	st, err := stepOf(task, steps, args[1])
	if err != nil {
		return task, step, err
	}
	return task, st.StepUUID, nil
}

func stepOf(task uuid.UUID, steps []tasker.Step, step string) (*tasker.Step, error) {
	names := make([]string, len(steps))
	for i := range steps {
		if steps[i].Name == step || steps[i].StepUUID.String() == step {
			return &steps[i], nil
		}
		names[i] = steps[i].Name
	}
	e := tasker.Errorf(tasker.CodeNotFound, "task %s has no step %q", task, step)
	e.Hint = "its steps: " + strings.Join(names, ", ")
	return nil, e
}

// describeFailure is one line without stack and details; "" for nil.
func describeFailure(f *tasker.Failure) string {
	if f == nil {
		return ""
	}
	text := f.Error()
	if f.Type != "" && f.Type != text {
		text = f.Type + ": " + text
	}
	if f.HTTPStatus != 0 {
		text += fmt.Sprintf(" (HTTP %d)", f.HTTPStatus)
	}
	return text
}

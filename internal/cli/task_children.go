package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newTaskChildren lists by index from GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}/children. --json prints an
// operate.ChildPage.
func newTaskChildren(s *session) *cobra.Command {
	var f operate.ChildFilter
	cmd := &cobra.Command{
		Use:     "children TASK_UUID STEP",
		Short:   "List the child tasks of a step",
		Example: `  tasker task children 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 each --state error`,
		Args:    cobra.ExactArgs(2),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			task, step, err := stepArgs(ctx, c, args)
			if err != nil {
				return err
			}
			return answered(s, s.printChildren)(operate.Of(c).StepChildren(ctx, task, step, f))
		}),
	}
	cmd.Flags().StringVar((*string)(&f.State), "state", "", "filter by state: running, done, error or given_up")
	choose(cmd, "state", operate.ChildRunning, operate.ChildDone, operate.ChildError, operate.ChildGivenUp)
	cmd.Flags().IntVar(&f.From, "from", 0, "index of the first child to list")
	pageFlag(cmd, &f.Limit, 50, "children per page")
	return cmd
}

// A child that could not be submitted has no task.
func (s *session) printChildren(page *operate.ChildPage) error {
	t := s.newList("No children.", "INDEX", "STATE", "TASK", "REASON")
	for _, c := range page.Children {
		id := ""
		if c.TaskUUID != nil {
			id = c.TaskUUID.String()
		}
		t.row(strconv.Itoa(c.Index), string(c.State), id, c.Reason)
	}
	if err := t.flush(); err != nil || page.Next == 0 || len(page.Children) == 0 {
		return err
	}
	return s.printf("\nMore: --from %d\n", page.Next)
}

func childrenOf(c *tasker.StepChildren) string {
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d done, %d running", c.Done, c.Total, c.Running)
	if c.Errors > 0 {
		text += fmt.Sprintf(", %d in error", c.Errors)
	}
	if c.GivenUp > 0 {
		text += fmt.Sprintf(", %d given up", c.GivenUp)
	}
	return text
}

func parentOf(p *tasker.TaskParent) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("step %s of task %s, index %d", p.StepUUID, p.TaskUUID, p.Index)
}

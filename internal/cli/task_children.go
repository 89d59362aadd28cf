package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newTaskChildren builds `task children`: the child tasks of a step, by index. --json prints an operate.ChildPage. It
// sends GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}/children, and before that GET .../workflow_steps for a name.
func newTaskChildren(s *session) *cobra.Command {
	var f operate.ChildFilter
	cmd := &cobra.Command{
		Use:   "children TASK_UUID STEP",
		Short: "List the child tasks of a step",
		Args:  cobra.ExactArgs(2),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			task, step, err := stepArgs(ctx, c, args)
			if err != nil {
				return err
			}
			page, err := operate.Of(c).StepChildren(ctx, task, step, f)
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(page)
			}
			return s.printChildren(page)
		}),
	}
	cmd.Flags().StringVar((*string)(&f.State), "state", "", "only children in this state: running, done, error, given_up")
	cmd.Flags().IntVar(&f.From, "from", 0, "index of the first child to list")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "number of children to list")
	return cmd
}

// printChildren prints a line for each child.
func (s *session) printChildren(page *operate.ChildPage) error {
	if len(page.Children) == 0 {
		return s.printf("No children.\n")
	}
	for _, c := range page.Children {
		what := "was refused: " + clean(c.Reason)
		if c.TaskUUID != nil {
			what = c.TaskUUID.String()
		}
		if err := s.printf("%6d  %-8s  %s\n", c.Index, c.State, what); err != nil {
			return err
		}
	}
	if page.Next > 0 {
		return s.printf("There are more: --from %d\n", page.Next)
	}
	return nil
}

// childrenOf describes the child tasks of a step in one line, "" for a step without any.
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

// parentOf names the step that a child carries out.
func parentOf(p *tasker.TaskParent) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("step %s of task %s, index %d", p.StepUUID, p.TaskUUID, p.Index)
}

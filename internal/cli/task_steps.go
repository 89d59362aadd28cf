package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskSteps builds `task steps`: the steps in the order of the template. --json prints a list of tasker.Step; beyond
// the server's limit of bytes the later ones lack their results. It sends GET /v1/tasks/{uuid}/workflow_steps once.
func newTaskSteps(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "steps TASK_UUID",
		Short:   "List the steps of a task",
		Example: `  tasker task steps 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			steps, err := c.Steps(ctx, id)
			if err != nil {
				return err
			}
			if s.json {
				return s.printList("steps", steps)
			}
			noun := "steps"
			if len(steps) == 1 {
				noun = "step"
			}
			if err := s.printf("✓ Found %d workflow %s:\n", len(steps), noun); err != nil {
				return err
			}
			for i := range steps {
				if err := s.printStepInList(&steps[i]); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// printStepInList prints one step of a list, with a warning if it waits for a retry or is
// damaged.
func (s *session) printStepInList(st *tasker.Step) error {
	f := s.newFields("    ")
	f.add("State", string(st.State))
	f.add("Dependencies satisfied", strconv.FormatBool(st.DependenciesSatisfied))
	f.add("Ready for execution", strconv.FormatBool(st.ReadyForExecution))
	f.add("Attempts", fmt.Sprintf("%d/%d", st.Attempts, st.MaxAttempts))
	if p := st.ProgressPercent; p != nil && (*p > 0 || st.StatusMessage != "") {
		f.add("Progress", strings.TrimSpace(fmt.Sprintf("%d%% %s", *p, st.StatusMessage)))
	}
	f.add("Children", childrenOf(st.Children))
	warning := ""
	switch {
	// A damaged step has no reliable state, so nothing about retries is shown.
	case st.Damage != "":
		f.add("Damaged", st.Damage)
	case st.Wait != nil:
		f.add("Waits for", s.waitText(st.Wait))
	case st.RetryEligible:
		warning = "    ⚠ Retry eligible\n"
	case st.State == tasker.StepWaitingForRetry && st.NextRetryAt != nil:
		warning = "    ⚠ Retry at " + s.stampAgo(st.NextRetryAt) + "\n"
	}
	return s.write([]byte("\n  Step: " + clean(st.Name) + " (" + st.StepUUID.String() + ")\n" + f.String() + warning))
}

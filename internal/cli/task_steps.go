package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskSteps builds `task steps`: the steps in the order of the template. --json prints a list of tasker.Step; beyond
// the server's limit of bytes the later ones lack their results. It sends GET /v1/tasks/{uuid}/workflow_steps once.
func newTaskSteps(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "steps TASK_UUID",
		Short: "List the steps of a task",
		Args:  cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
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
	err := s.printf(
		"\n  Step: %s (%s)\n    State: %s\n    Dependencies satisfied: %t\n"+
			"    Ready for execution: %t\n    Attempts: %d/%d\n",
		st.Name,
		st.StepUUID.String(),
		st.State,
		st.DependenciesSatisfied,
		st.ReadyForExecution,
		st.Attempts,
		st.MaxAttempts,
	)
	if p := st.ProgressPercent; err == nil && p != nil && (*p > 0 || st.StatusMessage != "") {
		err = s.printf("    Progress: %s\n", clean(strings.TrimSpace(fmt.Sprintf("%d%% %s", *p, st.StatusMessage))))
	}
	if text := childrenOf(st.Children); err == nil && text != "" {
		err = s.printf("    Children: %s\n", text)
	}
	switch {
	case err != nil:
		return err
	// A damaged step has no reliable state, so nothing about retries is shown.
	case st.Damage != "":
		return s.printf("    Damaged: %s\n", clean(st.Damage))
	case st.Wait != nil:
		return s.printf("    Waits for: %s\n", s.waitText(st.Wait))
	case st.RetryEligible:
		return s.printf("    ⚠ Retry eligible\n")
	case st.State == tasker.StepWaitingForRetry && st.NextRetryAt != nil:
		return s.printf("    ⚠ Retry at %s\n", s.stampAgo(st.NextRetryAt))
	}
	return nil
}

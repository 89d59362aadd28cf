package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskSteps reads GET /v1/tasks/{uuid}/workflow_steps in template order. --json prints tasker.Steps; beyond the
// server's limit of bytes later ones lack results.
func newTaskSteps(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "steps TASK_UUID",
		Short:   "List the steps of a task",
		Example: `  tasker task steps 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
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
		})),
	}
}

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
	// A damaged step has no reliable state.
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

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskStep: --json prints a tasker.Step with its result.
func newTaskStep(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "step TASK_UUID STEP",
		Short:   "Show one step and its failure",
		Example: `  tasker task step 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 charge`,
		Long:    "Show one step and its failure. STEP is the name or the UUID of a step.",
		Args:    cobra.ExactArgs(2),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			task, id, err := stepArgs(ctx, c, args)
			if err != nil {
				return err
			}
			return answered(s, s.printStep)(c.Step(ctx, task, id))
		}),
	}
}

// printStep prints every field with a value, and the whole last failure.
func (s *session) printStep(st *tasker.Step) error {
	f := s.newFields("  ")
	f.add("UUID", st.StepUUID.String())
	f.add("Name", st.Name)
	f.add("State", string(st.State))
	f.add("Dependencies satisfied", fmt.Sprint(st.DependenciesSatisfied))
	f.add("Ready for execution", fmt.Sprint(st.ReadyForExecution))
	f.add("Retry eligible", fmt.Sprint(st.RetryEligible))
	f.add("Attempts", fmt.Sprintf("%d/%d", st.Attempts, st.MaxAttempts))
	f.add("Children", childrenOf(st.Children))
	f.add("Last failure", stamp(st.LastFailureAt))
	f.add("Next retry", s.stampAgo(st.NextRetryAt))
	if len(st.Dependencies) > 0 {
		f.add("Depends on",
			fmt.Sprintf("%s (%d of %d done)", strings.Join(st.Dependencies, ", "), st.CompletedParents, st.TotalParents))
	}
	f.add("Handler", st.Handler)
	f.add("Required capabilities", strings.Join(st.RequiredCapabilities, ", "))
	f.add("Worker", st.Worker)
	f.add("Lease until", s.stampAgo(st.LeaseExpiresAt))
	if st.ProgressPercent != nil {
		f.add("Progress", strings.TrimSpace(fmt.Sprintf("%d%% %s", *st.ProgressPercent, st.StatusMessage)))
	}
	if c := st.Checkpoint; c != nil {
		f.add("Checkpoint", fmt.Sprintf("%d bytes, stored %s", c.Bytes, s.stampAgo(&c.At)))
		f.add("Checkpoint value", compact(c.Value))
	}
	f.add("Completed", s.stampAgo(st.CompletedAt))
	f.add("Results", compact(st.Results))
	if l := st.LargeResult; l != nil {
		f.add("Large result", fmt.Sprintf("%d bytes, SHA-256 %s; see tasker task result", l.Bytes, l.SHA256))
	}
	f.add("Resolved by", byWhom(st.ResolvedBy, st.ResolvedByKey))
	f.add("Resolution reason", st.ResolutionReason)
	addFailure(&f, st.LastError)
	return s.write([]byte("✓ Step Details:\n\n" + f.String()))
}

// addFailure includes stack trace and response body, which tables omit.
func addFailure(f *fields, e *tasker.Failure) {
	if e == nil {
		return
	}
	f.block("Error", e.Message)
	f.add("Error type", e.Type)
	f.add("Error code", e.Code)
	if e.HTTPStatus != 0 {
		f.add("HTTP status", fmt.Sprint(e.HTTPStatus))
	}
	f.add("Class", string(e.Class))
	f.block("Response body", e.ResponseBody)
	if e.Retryable != nil {
		f.add("Retryable", fmt.Sprint(*e.Retryable))
	}
	f.add("Details", compact(e.Details))
	f.block("Stack trace", e.Stack)
}

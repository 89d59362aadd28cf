package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskEdit sends PATCH /v1/tasks/{uuid}/context, which is idempotent. 0 is a valid --expect-version, so Changed
// tells whether it was given. --json prints a tasker.EditedContext.
func newTaskEdit(s *session) *cobra.Command {
	var (
		req            tasker.EditContextRequest
		whole, changes string
		version        int
	)
	cmd := &cobra.Command{
		Use:   "edit TASK_UUID {--context JSON | --merge JSON} --reason TEXT",
		Short: "Change the context of a task in error and run its failed steps again",
		Long: `Change the context of a task in error and run its failed steps again. The new context
must match the input schema of the template. The old context is kept: "task history"
shows it, and a second edit can restore it.

Steps that ended earlier do not run again, even if they used the old context.
--context and --merge accept JSON, @FILE, or - for standard input. --merge is a JSON
merge patch (RFC 7396): null removes a member.`,
		Example: `  tasker task edit TASK_UUID --merge '{"sku": "a2", "coupon": null}' --reason 'Typo in the order'
  tasker task edit TASK_UUID --context @order.json --reason 'New order' --no-retry`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (whole == "") == (changes == ""):
				return usagef("give either --context or --merge")
			case req.Reason == "":
				return usagef("--reason is required; it is stored with the task")
			case req.NoRetry && req.ResetRetryCount:
				return usagef("--reset-retry-count and --no-retry exclude each other")
			}
			if cmd.Flags().Changed("expect-version") {
				req.ExpectedVersion = &version
			}
			req.EditedBy = actor(req.EditedBy)
			var err error
			if req.Context, err = s.jsonFlag("--context", whole); err == nil {
				req.Merge, err = s.jsonFlag("--merge", changes)
			}
			return err
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			return s.editContext(ctx, c, args[0], req)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&whole, "context", "", "the complete new context, in JSON")
	f.StringVar(&changes, "merge", "", "changes to the context, as a JSON merge patch")
	f.StringVar(&req.Reason, "reason", "", "reason for the act (required)")
	actorFlag(cmd, &req.EditedBy, "edited-by")
	f.IntVar(&version, "expect-version", 0, "expected version of the context; refuse the edit if it differs")
	f.BoolVar(&req.NoRetry, "no-retry", false, "leave the task in error")
	f.BoolVar(&req.ResetRetryCount, "reset-retry-count", false,
		"give the failed steps all their attempts again (default: the attempts left, at least one)")
	return cmd
}

// editContext also prints the old context, so that the terminal keeps it. An equal context is a success.
func (s *session) editContext(ctx context.Context, c *tasker.Client, arg string, req tasker.EditContextRequest) error {
	id, err := taskArg(arg)
	if err != nil {
		return err
	}
	out, err := c.EditContext(ctx, id, req)
	if err != nil || s.json {
		return s.jsonOf(out, err)
	}
	f := s.newFields("  ")
	f.add("Task", out.TaskUUID.String())
	f.add("State", string(out.State))
	f.add("Context version", fmt.Sprint(out.ContextVersion))
	f.add("Context", compact(out.Context))
	f.add("Old context", compact(out.OldContext))
	f.add("Ended steps, not run again", strings.Join(out.EndedSteps, ", "))
	f.add("Steps run again", fmt.Sprint(out.ReplayedSteps))
	f.add("Actor", req.EditedBy)
	done := "Context edited!"
	// Nothing was stored, and no step restarts.
	if !out.Changed {
		done = "The task already has this context"
	}
	return s.write([]byte("✓ " + done + "\n" + f.String()))
}

// The server omits a large old context; its row says where it is.
func (s *session) printEdits(edits []tasker.ContextEdit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t := s.newTable("VERSION", "EDITED", "ACTOR", "REASON", "OLD CONTEXT")
	for i := range edits {
		e := &edits[i]
		old := compact(e.OldContext)
		if e.OldOmitted {
			old = fmt.Sprintf("in the audit trail, number %d", e.No)
		}
		t.row(fmt.Sprint(e.ContextVersion), stamp(&e.At), e.Actor, e.Reason, old)
	}
	return t.flush()
}

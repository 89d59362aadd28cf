package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/waits"
)

// newApprovals: --json prints a waits.ApprovalPage of GET /v1/approvals.
func newApprovals(s *session) *cobra.Command {
	var filter waits.ApprovalFilter
	var id string
	cmd := &cobra.Command{
		Use:     "approvals",
		Short:   "List the steps that wait for an approval",
		Example: `  tasker approvals --namespace shop`,
		Long: `List the steps that wait for an approval; the one that has waited longest comes first.
Decide with "tasker task approve-step" and "tasker task reject-step".`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			if id != "" {
				var err error
				if filter.TaskUUID, err = uuid.Parse(id); err != nil {
					return usagef("--task %q is not the UUID of a task", id)
				}
			}
			return answered(s, s.printApprovals)(waits.Of(c).Approvals(ctx, filter))
		}),
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&filter.Template, "name", "", "filter by the name of the template")
	f.StringVar(&filter.Step, "step", "", "filter by the name of the step")
	f.StringVar(&id, "task", "", "filter by task")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of approvals")
	return cmd
}

func (s *session) printApprovals(page *waits.ApprovalPage) error {
	t := s.newList("No step waits for an approval.", "TASK", "STEP", "TEMPLATE", "SINCE", "UNTIL", "APPROVAL")
	t.dropFirst("SINCE", "TEMPLATE", "UNTIL")
	for i := range page.Approvals {
		a := &page.Approvals[i]
		t.row(a.TaskUUID.String(), a.Step, qualified(a.Namespace, a.Template), stamp(&a.Since), stamp(a.Until), a.Approval)
	}
	return t.flushPage(page.NextCursor)
}

package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQList pages GET /v1/dlq by offset, although the flag is --cursor as elsewhere: a case opened between two
// pages may repeat another. --json prints operate.Cases without snapshots.
func newDLQList(s *session) *cobra.Command {
	var (
		flags  caseFlags
		status string
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List cases, newest first",
		Example: `  tasker dlq list --resolution-status pending --dlq-reason max_retries_exceeded
  tasker dlq list --after 24h --json`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			flags.filter.ResolutionStatus = tasker.CaseResolution(status)
			return flags.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			cases, err := operate.Of(c).Cases(ctx, flags.filter)
			if err != nil {
				return err
			}
			return s.printCases(cases, flags.filter)
		}),
	}
	flags.add(cmd)
	aliases(cmd, map[string]string{"reason": "dlq-reason", "status": "resolution-status", "offset": "cursor"})
	resolutionFlag(cmd, &status, "filter by resolution status")
	pageFlag(cmd, &flags.filter.Limit, 50, "cases per page")
	cmd.Flags().IntVar(&flags.filter.Offset, "cursor", 0, "start after the previous page: the value that it printed")
	return cmd
}

func resolutionFlag(cmd *cobra.Command, status *string, usage string) {
	const name = "resolution-status"
	cmd.Flags().StringVar(status, name, "", usage)
	offer(cmd, name, tasker.CasePending, tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed, tasker.CaseCancelled)
}

// printCases shows the task's state at the opening as STATE THEN, and the current one as STATE.
func (s *session) printCases(cases []operate.Case, f operate.CaseFilter) error {
	if s.json {
		return s.printList("cases", cases)
	}
	t := s.newList("No cases.", "CASE", "TASK", "NAME", "REASON", "CAUSE", "STEP", "OCCURRENCES",
		"STATE THEN", "STATE", "STATUS", "OPENED", "ERROR")
	t.dropFirst("TASK", "STATE THEN", "OCCURRENCES", "CAUSE", "STATE", "REASON", "OPENED", "STEP", "STATUS")
	for i := range cases {
		c := &cases[i]
		t.damaged(c.CaseUUID.String(), c.Damage)
		t.row(c.CaseUUID.String(), c.TaskUUID.String(), qualified(c.Namespace, c.TaskName), string(c.Reason),
			string(c.Cause), c.FailedStep, strconv.Itoa(c.OccurrenceCount), string(c.OriginalState), string(c.CurrentState),
			string(c.ResolutionStatus), s.ago(c.OpenedAt), headline(c.ErrorMessage))
	}
	if err := t.flush(); err != nil {
		return err
	}
	return s.nextPage(len(cases), f.Limit, int64(f.Offset+len(cases)))
}

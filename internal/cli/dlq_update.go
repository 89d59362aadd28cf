package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQUpdate omits a missing --notes from the request, which differs from an empty note. It sends PATCH
// /v1/dlq/entry/{dlq_entry_uuid}, or with --all POST /v1/dlq/update. It changes the case, not its task. --json
// prints an operate.CaseUpdated, with --all an operate.BulkResult.
func newDLQUpdate(s *session) *cobra.Command {
	var (
		bulk                    bulkFlags
		update                  operate.CaseUpdate
		status, notes, metadata string
	)
	cmd := &cobra.Command{
		Use:   "update {CASE_UUID | --all}",
		Short: "Add notes to one or many cases, or resolve them",
		Long: `Add notes or metadata to a case, or resolve it. Omitted fields keep their value.
--metadata is merged into the existing object; null removes a member. --notes are
added to the thread of the case. A resolution (--status) is final: afterwards a case
only accepts notes, until it is reopened (dlq reopen).

--all updates every pending case that matches the filters. A refused update does not
stop the others.`,
		Example: `  tasker dlq update CASE_UUID --status manually_resolved --actor ops@example.com \
    --notes 'Connection pool enlarged, step reset' --metadata '{"root_cause": "pool"}'
  tasker dlq update --all --name invoice --status manually_resolved --notes 'INC-8' --dry-run`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if bulk.all == (len(args) > 0) {
				return usagef("give either a case or --all")
			}
			update.ResolutionStatus = tasker.CaseResolution(status)
			if cmd.Flags().Changed("notes") {
				update.ResolutionNotes = &notes
			}
			if status == "" && metadata == "" && update.ResolutionNotes == nil {
				return usagef("nothing to change: give --status, --notes or --metadata")
			}
			update.ResolvedBy = actor(update.ResolvedBy)
			var err error
			if update.Metadata, err = s.jsonFlag("--metadata", metadata); err != nil {
				return err
			}
			// A single case ignores this filter.
			return bulk.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if bulk.all {
				return s.printBulk(bulk.each(func(page operate.BulkPage) (*operate.BulkResult, error) {
					return operate.Of(c).UpdateCases(ctx, operate.BulkCaseUpdate{Filter: bulk.filter, Update: update, BulkPage: page})
				}))
			}
			return s.updateCase(ctx, c, args[0], update, "Case updated!")
		}),
	}
	bulk.add(cmd, "update")
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "resolution: manually_resolved, permanently_failed or cancelled")
	f.StringVar(&notes, "notes", "", "note to add to the thread of the case")
	actorFlag(cmd, &update.ResolvedBy, "resolved-by")
	f.StringVar(&metadata, "metadata", "", "JSON object to merge: JSON, @FILE, or - for standard input")
	expectFlag(cmd, &update.ExpectedState, tasker.CasePending)
	offer(cmd, "status", tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed, tasker.CaseCancelled)
	return cmd
}

// newDLQReopen is a separate command, because a resolution is final for `dlq update`. A case whose task has another
// pending case exits with 4, conflict.
func newDLQReopen(s *session) *cobra.Command {
	var (
		update operate.CaseUpdate
		reason string
	)
	cmd := &cobra.Command{
		Use:   "reopen CASE_UUID",
		Short: "Make a resolved case pending again",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if reason == "" {
				return usagef("--reason is required; it is stored with the case")
			}
			update.Reopen, update.ResolutionNotes, update.ResolvedBy = true, &reason, actor(update.ResolvedBy)
			return nil
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			return s.updateCase(ctx, c, args[0], update, "Case reopened!")
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the act; added to the notes of the case (required)")
	actorFlag(cmd, &update.ResolvedBy, "reopened-by")
	expectFlag(cmd, &update.ExpectedState, tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed, tasker.CaseCancelled)
	return cmd
}

// done is the title of the printed changes.
func (s *session) updateCase(ctx context.Context, c *tasker.Client, arg string, update operate.CaseUpdate, done string,
) error {
	id, err := caseArg(arg)
	if err != nil {
		return err
	}
	updated, err := operate.Of(c).UpdateCase(ctx, id, update)
	if err != nil || s.json {
		return s.jsonOf(updated, err)
	}
	f := s.newFields("  ")
	f.add("Case", updated.CaseUUID.String())
	// The request has reopen, not a status.
	if update.Reopen {
		update.ResolutionStatus = tasker.CasePending
	}
	f.add("Status", string(update.ResolutionStatus))
	if update.ResolutionNotes != nil {
		f.block("Notes", *update.ResolutionNotes)
	}
	f.add("Metadata", compact(update.Metadata))
	f.add("Actor", update.ResolvedBy)
	return s.write([]byte("✓ " + done + "\n" + f.String()))
}

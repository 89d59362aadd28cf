package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newGroupMerge keeps the first group visible and merges the others into it, all or none, by POST
// /v1/groups/{group_id}/merge. Merges have one level: merged groups, and those that show others, exit with 4,
// wrong_state.
func newGroupMerge(s *session) *cobra.Command {
	var act deadletters.Act
	cmd := &cobra.Command{
		Use:   "merge INTO GROUP_ID...",
		Short: "Make a group show the failures of others as its own",
		Long: `Make the first group show the failures of the others as its own. The others keep their
failures, and "group unmerge" takes one out again.`,
		Example: `  tasker group merge 3f1c2d5e6f700042 8a4e3f1c2d5e6f70 --reason 'same outage'`,
		Args:    cobra.MinimumNArgs(2),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if err := groupArgs(args); err != nil {
				return err
			}
			return s.changedGroup(deadletters.Of(c).MergeGroups(ctx, args[0],
				deadletters.MergeRequest{Groups: args[1:], Act: signed(act)}))
		}),
	}
	actFlags(cmd, &act)
	return cmd
}

// newGroupUnmerge names the merged group, which has only one parent. The merge moved nothing, so this is immediate.
func newGroupUnmerge(s *session) *cobra.Command {
	return actOnGroup(s, &cobra.Command{
		Use:     "unmerge GROUP_ID",
		Short:   "Take a merged group out again",
		Example: `  tasker group unmerge 8a4e3f1c2d5e6f70`,
	}, deadletters.Backend.UnmergeGroup)
}

// newGroupSplit stores a rule by POST /v1/groups/{group_id}/split; a loop moves the members from three seconds
// later, 200 per transaction. Repeating a split exits with 4, conflict. --json prints a list with the
// deadletters.SavedRule.
func newGroupSplit(s *session) *cobra.Command {
	var req deadletters.SplitRequest
	cmd := &cobra.Command{
		Use:   "split GROUP_ID",
		Short: "Take failures out of a group into separate groups",
		Long: `Take the failures for which a condition holds out of a group, into one group for each
combination of the values of the keys. The split is a rule within the group: what comes
follows it at once, and the members of the group are moved within seconds. "rule test
--group" shows which ones, and "group unsplit" undoes it. Conditions and keys are those of
rules; see "tasker rule".`,
		Example: `  tasker group split 3f1c2d5e6f700042 --when 'header("tenant") == "acme"' --title 'Acme'
  tasker group split 3f1c2d5e6f700042 --key origin`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if req.When == "" && len(req.GroupBy) == 0 {
				return usagef("give --when, --key or both")
			}
			return nil
		},
		RunE: s.onServer(with(groupArg, func(ctx context.Context, c *tasker.Client, id string) error {
			req.Act = signed(req.Act)
			return answeredList(s, "rules", s.printRules)(alone(deadletters.Of(c).SplitGroup(ctx, id, req)))
		})),
	}
	f := cmd.Flags()
	f.StringVar(&req.Name, "rule", "", "name of the rule that splits (default: one made of the group)")
	f.StringVar(&req.When, "when", "", "condition (default: every failure of the group)")
	f.StringArrayVar(&req.GroupBy, "key", nil, "expression whose value is part of the key; repeatable")
	f.StringVar(&req.Title, "title", "", "title of the groups (default: the rule and the values of the keys)")
	actFlags(cmd, &req.Act)
	return cmd
}

// newGroupUnsplit names any group of the split and prints the split group, to which the loop returns the members.
// It is refused while a group of the split is split, so that no member is lost in between.
func newGroupUnsplit(s *session) *cobra.Command {
	return actOnGroup(s, &cobra.Command{
		Use:     "unsplit GROUP_ID",
		Short:   "Undo the split that made a group: all its groups give their failures back",
		Example: `  tasker group unsplit 8a4e3f1c2d5e6f70 --reason 'one cause after all'`,
	}, deadletters.Backend.UnsplitGroup)
}

// actOnGroup completes a command on one group with actor and reason, and prints do's result.
func actOnGroup(s *session, cmd *cobra.Command,
	do func(b deadletters.Backend, ctx context.Context, id string, act deadletters.Act) (*deadletters.Group, error),
) *cobra.Command {
	var act deadletters.Act
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = s.onServer(with(groupArg, func(ctx context.Context, c *tasker.Client, id string) error {
		return s.changedGroup(do(deadletters.Of(c), ctx, id, signed(act)))
	}))
	actFlags(cmd, &act)
	return cmd
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newGroupMerge builds `group merge`. The first argument is the group that stays visible. All others are merged by one
// request, so either all of them are merged or none is.
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
			if err := groupArgs(args...); err != nil {
				return err
			}
			g, err := deadletters.Of(c).MergeGroups(ctx, args[0],
				deadletters.MergeRequest{Groups: args[1:], Act: signed(act)})
			if err != nil {
				return err
			}
			return s.printChangedGroups([]deadletters.Group{*g})
		}),
	}
	actFlags(cmd, &act)
	return cmd
}

// newGroupUnmerge builds `group unmerge`. It names the merged group, not the group that shows it: a group is merged
// into at most one other, so no second argument is needed.
func newGroupUnmerge(s *session) *cobra.Command {
	var act deadletters.Act
	cmd := &cobra.Command{
		Use:     "unmerge GROUP_ID",
		Short:   "Take a merged group out again",
		Example: `  tasker group unmerge 8a4e3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if err := groupArgs(args...); err != nil {
				return err
			}
			g, err := deadletters.Of(c).UnmergeGroup(ctx, args[0], signed(act))
			if err != nil {
				return err
			}
			return s.printChangedGroups([]deadletters.Group{*g})
		}),
	}
	actFlags(cmd, &act)
	return cmd
}

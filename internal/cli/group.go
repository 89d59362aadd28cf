package cli

import "github.com/spf13/cobra"

// newGroup groups the commands about groups of failures.
func newGroup(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Investigate failures of one cause",
		Long: `A group holds the failures of one cause: dead letters and cases of tasks. "tasker
inbox" lists groups. A group that is resolved opens again when it fails again, as a
regression.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newGroupShow(s),
		newGroupWhy(s),
		newGroupNote(s),
		newGroupAssign(s),
		newGroupAck(s),
		newGroupIgnore(s),
		newGroupResolve(s),
		newGroupReopen(s),
		newGroupMerge(s),
		newGroupUnmerge(s),
	)
	return cmd
}

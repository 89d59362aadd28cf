package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// newGroup: changes need operate or dead-letters:redrive, and each is an act in the audit trail.
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
		newGroupSplit(s),
		newGroupUnsplit(s),
	)
	return cmd
}

func groupArg(arg string) (string, error) {
	if len(arg) != 16 || strings.Trim(arg, "0123456789abcdef") != "" {
		return "", usagef("%q is not the ID of a group: it has 16 hexadecimal digits in lower case", arg)
	}
	return arg, nil
}

func groupArgs(args []string) error {
	for _, arg := range args {
		if _, err := groupArg(arg); err != nil {
			return err
		}
	}
	return nil
}

package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/deadletters"
)

// actFlags adds the flags of every act on dead letters: actor, reason and version. ETags come from the object's
// --json output.
func actFlags(cmd *cobra.Command, act *deadletters.Act) {
	f := cmd.Flags()
	f.StringVar(&act.Actor, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&act.Reason, "reason", "", "reason for the act; kept in the audit trail")
	f.StringVar(&act.IfMatch, "if-match", "", "refuse the act unless the object has this ETag")
}

// signed fills in the operating system's user if the flag was omitted. Call it when the command runs, after the
// flags are parsed.
func signed(act deadletters.Act) deadletters.Act {
	act.Actor = actor(act.Actor)
	return act
}

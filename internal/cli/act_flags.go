package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/deadletters"
)

// actFlags adds the flags that every act on dead letters accepts: who, why, and on which version. ETags come from the
// --json output of the object.
func actFlags(cmd *cobra.Command, act *deadletters.Act) {
	f := cmd.Flags()
	f.StringVar(&act.Actor, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&act.Reason, "reason", "", "reason for the act; kept in the audit trail")
	f.StringVar(&act.IfMatch, "if-match", "", "refuse the act unless the object has this ETag")
}

// signed returns act with its actor filled in: the operating system's user if the flag was omitted. It is called when
// the command runs, not when its flags are defined, since the flag is empty before.
func signed(act deadletters.Act) deadletters.Act {
	act.Actor = actor(act.Actor)
	return act
}

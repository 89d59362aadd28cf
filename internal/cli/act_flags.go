package cli

import (
	"os/user"

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

// actor returns the name to record with an act: named, else the operating system's user, else "", as in a container
// with an unlisted user ID. The server stores it as a claim; only the API key proves an identity.
func actor(named string) string {
	if named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// byWhom formats the claimed name and, if it differs, the name of the API key.
func byWhom(actor, key string) string {
	if key == "" || key == actor {
		return actor
	}
	return actor + " (key " + key + ")"
}

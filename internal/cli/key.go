package cli

import "github.com/spf13/cobra"

// newKey groups the commands about API keys. There is only one: keys are listed and revoked in the configuration of the
// server. None of them connects to a server or a database.
func newKey(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Generate API keys"}
	cmd.AddCommand(newKeyGenerate(s))
	return cmd
}

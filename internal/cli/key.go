package cli

import "github.com/spf13/cobra"

// newKey: keys are listed and revoked in the server's configuration.
func newKey(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Generate API keys"}
	cmd.AddCommand(newKeyGenerate(s))
	return cmd
}

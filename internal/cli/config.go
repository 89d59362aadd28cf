package cli

import "github.com/spf13/cobra"

// newConfig groups the commands about the configuration. They read files, environment and flags of this process; they
// ask no server for its configuration.
func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Print the configuration"}
	cmd.AddCommand(newConfigPrint(s))
	return cmd
}

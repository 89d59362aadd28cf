package cli

import "github.com/spf13/cobra"

// newConfig groups the commands about the configuration. They read files, environment and flags of this process; they
// ask no server for its configuration.
func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the configuration, print it, or print an example"}
	cmd.AddCommand(newConfigCheck(s), newConfigExample(s), newConfigPrint(s))
	return cmd
}

package cli

import "github.com/spf13/cobra"

// newConfig groups commands that read this process's files, environment and flags, not a server's.
func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the configuration, print it, or print an example"}
	cmd.AddCommand(newConfigCheck(s), newConfigExample(s), newConfigPrint(s))
	return cmd
}

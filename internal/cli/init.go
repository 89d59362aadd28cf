package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/cli/starter"
)

func newInit(s *session) *cobra.Command {
	var worker string
	cmd := &cobra.Command{
		Use:   "init [DIRECTORY]",
		Short: "Write a first template, a worker, a compose file and a README",
		Long: `Write a first template, a worker, a compose file and a README with the next commands
into a directory (default: this one). Nothing is overwritten: if one of the files
exists, nothing is written.`,
		Example: `  tasker init shop
  tasker init shop --worker python`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(starter.Workers(), worker) {
				return usagef("--worker must be one of %s", strings.Join(starter.Workers(), ", "))
			}
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			names, err := starter.Write(dir, worker)
			if err != nil {
				return usageError{err}
			}
			if s.json {
				return s.printJSON(map[string]any{"directory": dir, "files": names})
			}
			for _, name := range names {
				if err := s.printf("✓ %s\n", filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return s.printf("\nNext: %s has the commands.\n", filepath.Join(dir, "README.md"))
		},
	}
	cmd.Flags().StringVar(&worker, "worker", "program", "what the worker is written in: go, program or python")
	return cmd
}

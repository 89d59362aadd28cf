package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/app"
)

// newBackup needs no server and does not disturb one. --json prints an app.Copied.
func newBackup(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the SQLite database to a new file, also while a server uses it",
		Long: `Copy the SQLite database to a new file, also while a server uses it. The copy has
everything that was committed when the command began. It is checked, synced to disk
and readable by its owner only; a file that exists is never overwritten.

To restore it, stop the server and put the copy in the place of the database. For
PostgreSQL use pg_dump, or base backups with a WAL archive.`,
		Example: `  tasker backup --db sqlite:tasker.db backups/tasker-2026-11-26.db`,
		Args:    cobra.ExactArgs(1),
	}
	flags := s.databaseFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := flags.load(cmd)
		if err != nil {
			return err
		}
		copied, err := app.CopyFile(cmd.Context(), cfg, args[0])
		if tasker.ErrorCode(err) == tasker.CodeInvalid { // a usage error
			return usageError{err}
		}
		if err != nil || s.json {
			return s.jsonOf(copied, err)
		}
		return s.printf("%s is a copy of %s, %d bytes\n", copied.File, copied.Database, copied.Bytes)
	}
	return cmd
}

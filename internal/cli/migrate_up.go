package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/app"
)

// newMigrateUp is for databases whose servers run with --migrate=never. After an interrupt, committed migrations
// stay, and a repetition continues.
func newMigrateUp(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Migrate a database to the schema of this binary",
		Example: `  tasker migrate up --db postgres://tasker@db/tasker`,
		Long: `Migrate a database to the schema of this binary. Each migration is one transaction.
The command waits while another process migrates. Stop the server of a SQLite file
first.`,
		Args: cobra.NoArgs,
	}
	flags := s.databaseFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.withSchema(cmd, flags, true, func(schema *app.Schema) error {
			files, err := schema.Up(cmd.Context())
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(migrateResult{Database: schema.DSN, Migrations: migrationsOf(files, false)})
			}
			for _, f := range files {
				if err := s.printf("applied %s\n", f.Name); err != nil {
					return err
				}
			}
			return s.printf("%s is up to date\n", schema.DSN)
		})
	}
	return cmd
}

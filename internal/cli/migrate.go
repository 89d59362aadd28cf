package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// newMigrate needs a role that may change the schema, unlike a server with --migrate=never. Without a subcommand it
// changes nothing.
func newMigrate(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Check or migrate the schema of a database",
		Long: `Check the schema of a database, or migrate it to the schema of this binary.

A server migrates its database when it starts, unless it runs with --migrate=never.
Migrations only go forward; to go back, restore a backup.`,
		Example: `  tasker migrate status --db postgres://tasker@db/tasker
  tasker migrate --show-sql --db postgres://tasker@db/tasker
  tasker migrate up --db postgres://owner@db/tasker`,
		Args: knownCommand,
	}
	flags := s.databaseFlags(cmd)
	showSQL := cmd.Flags().Bool("show-sql", false, "print the pending SQL without running it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*showSQL {
			return cmd.Help()
		}
		return s.withSchema(cmd, flags, false, func(schema *app.Schema) error {
			files, err := schema.Pending(cmd.Context())
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(migrateResult{Database: schema.DSN, Migrations: migrationsOf(files, true)})
			}
			return s.write([]byte(migration.SQL(files)))
		})
	}
	cmd.AddCommand(newMigrateStatus(s), newMigrateUp(s))
	return cmd
}

// withSchema opens the schema of the flags for do. Without write the database is neither created nor changed. A
// wrong schema is a configuration error.
func (s *session) withSchema(cmd *cobra.Command, flags *configFlags, write bool, do func(*app.Schema) error) error {
	cfg, err := flags.load(cmd)
	if err != nil {
		return err
	}
	schema, err := app.OpenSchema(cfg, write)
	if err != nil {
		return startError(err)
	}
	return errors.Join(do(schema), schema.Close())
}

// migrateResult is the JSON of the subcommands. Database has no password.
type migrateResult struct {
	Database   string          `json:"database"`
	Migrations []migrationLine `json:"migrations"`
}

type migrationLine struct {
	Version   int64           `json:"version"`
	File      string          `json:"file"`
	SHA256    string          `json:"sha256,omitempty"`
	State     migration.State `json:"state"`
	AppliedAt *time.Time      `json:"applied_at,omitempty"`
	SQL       string          `json:"sql,omitempty"`
}

func migrationsOf(files []migration.File, pending bool) []migrationLine {
	out := make([]migrationLine, len(files))
	for i, f := range files {
		out[i] = migrationLine{Version: f.Version, File: f.Name, SHA256: f.SHA256, State: migration.Applied}
		if pending {
			out[i].State, out[i].SQL = migration.Pending, f.SQL
		}
	}
	return out
}

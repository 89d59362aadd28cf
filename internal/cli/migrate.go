package cli

import (
	"errors"
	"strconv"
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

// newMigrateStatus only reads; its exit code tells a deployment whether migrations are pending.
func newMigrateStatus(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Compare the schema of a database with this binary",
		Example: `  tasker migrate status --db postgres://tasker@db/tasker`,
		Long: `Compare the schema of a database with this binary, and change nothing.

A migration is applied or pending; if any is pending, the command exits with 1. There
are three conflicts: the binary does not
have an applied migration (unknown), its file has changed since (changed), or an
earlier migration was not applied (skipped). A conflict exits with 4, and servers
refuse to start on such a database.`,
		Args: cobra.NoArgs,
	}
	flags := s.databaseFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.withSchema(cmd, flags, false, func(schema *app.Schema) error {
			list, err := schema.Status(cmd.Context())
			if err != nil {
				return err
			}
			if err := s.printMigrations(schema.DSN, list); err != nil {
				return err
			}
			// The table shows the conflicts.
			if err := schema.Check(list); err != nil {
				return err
			}
			if len(migration.PendingFiles(list)) > 0 {
				return exitError(exitFailure)
			}
			return nil
		})
	}
	return cmd
}

// dsn has no password.
func (s *session) printMigrations(dsn string, list []migration.Status) error {
	if s.json {
		result := migrateResult{Database: dsn, Migrations: make([]migrationLine, len(list))}
		for i, m := range list {
			result.Migrations[i] = migrationLine{Version: m.Version, File: m.Name, SHA256: m.SHA256, State: m.State}
			if !m.AppliedAt.IsZero() {
				result.Migrations[i].AppliedAt = &m.AppliedAt
			}
		}
		return s.printJSON(result)
	}
	t := s.newTable("VERSION", "FILE", "STATE", "APPLIED")
	for _, m := range list {
		t.row(strconv.FormatInt(m.Version, 10), m.Name, string(m.State), s.stampAgo(&m.AppliedAt))
	}
	if err := t.flush(); err != nil {
		return err
	}
	switch n := len(migration.PendingFiles(list)); {
	case migration.Check(list) != nil:
		return nil // the error reports it
	case n > 0:
		return s.printf("\n%s is not up to date; pending migrations: %d. Apply them with: tasker migrate up\n", dsn, n)
	}
	return s.printf("\n%s is up to date\n", dsn)
}

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

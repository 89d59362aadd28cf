package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/store/migration"
)

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

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
)

// newDoctor opens the database, because it must work when no server starts. It takes no lock and creates no table.
// Each check has a time limit, so that a hanging one does not hide the others.
func newDoctor(s *session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a database and suggest fixes",
		Long: `Check the database and suggest fixes. The checks cover the schema and its indexes,
settings that can lose data, obstacles to vacuum, unattended work, the Redis of
sources of dead letters, the RabbitMQ of the dispatch, and the blob store, where one
small object is written, read and deleted.

The command changes nothing else, and can run beside servers and through PgBouncer. Its
role only needs read access; with pg_read_all_stats it also sees the sessions of
other roles.

Exit code 0: all checks pass. 9: there are warnings. 1: a check fails.`,
		Example: `  tasker doctor --db postgres://tasker@db.example.com/tasker
  tasker doctor --db tasker.db --json`,
		Args: cobra.NoArgs,
	}
	flags := s.databaseFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "time limit of one check")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.examine(cmd, flags, timeout, doctor.Of)
	}
	return cmd
}

// what selects the checks.
func (s *session) examine(cmd *cobra.Command, flags *configFlags, timeout time.Duration,
	what func(*config.Config) doctor.Options,
) error {
	cfg, err := flags.load(cmd)
	if err != nil {
		return err
	}
	if timeout <= 0 {
		return usagef("--timeout must be positive")
	}
	at, err := config.ParseDSN(cfg.DB.DSN)
	if err != nil {
		return usagef("db.dsn: %w", err)
	}
	opts := what(cfg)
	opts.Now, opts.Timeout = s.Now, timeout
	report, err := doctor.Examine(cmd.Context(), at, opts)
	if err != nil {
		return databaseError(err)
	}
	// The exit code alone tells no operator what to do.
	if err := s.printReport(report); err != nil {
		return err
	}
	return verdict(report.Status)
}

// verdict exits with 0, 9 for warnings, 1 for a failed check.
func verdict(worst doctor.Status) error {
	switch worst {
	case doctor.Fail:
		return exitError(exitFailure)
	case doctor.Warn:
		return exitError(exitWarned)
	}
	return nil
}

func (s *session) printReport(r *doctor.Report) error {
	if s.json {
		return s.printJSON(r)
	}
	t := s.newTable("STATUS", "CHECK", "FINDING")
	for _, c := range r.Checks {
		t.row(string(c.Status), strings.ReplaceAll(c.Name, "_", " "), c.Seen)
		if c.Do != "" {
			t.row("", "", "→ "+c.Do)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	count := map[doctor.Status]int{}
	for _, c := range r.Checks {
		count[c.Status]++
	}
	return s.printf("\n%s: %d ok, %d warnings, %d failed\n", r.Database, count[doctor.OK], count[doctor.Warn],
		count[doctor.Fail])
}

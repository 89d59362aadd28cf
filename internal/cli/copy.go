package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/transfer"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
)

type copying struct {
	s        *session
	from, to string
}

// newCopy takes both DSNs as flags, so that their order cannot swap them. It works without a server; stop the
// servers of both first. Repeat an interrupted copy with the same flags. --json prints a transfer.Report.
func newCopy(s *session) *cobra.Command {
	c := &copying{s: s}
	cmd := &cobra.Command{
		Use:   "copy --from DSN --to DSN",
		Short: "Copy all data to another database and verify the copy",
		Long: `Copy all data to another database: between SQLite and PostgreSQL in either
direction, or between two databases of the same kind. Tasks keep their IDs; workers
need no change. Sessions of the dashboard are not copied: viewers sign in again.

Stop the servers of both databases first. The command creates or migrates the target.
The target must be empty or hold an interrupted copy of the same source; run the
command again to complete that copy. At the end the command reads every row of both
databases and compares the row count and a checksum of each table.

A SQLite file derives the IDs of tasks from one seed, and each server process has its
own seed. Therefore SQLite only accepts tasks that one process wrote or that came
from a SQLite file. The command refuses any other copy before it writes anything.`,
		Example: `  tasker copy --from sqlite:tasker.db --to 'postgres://tasker@db.example.com/tasker'`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.from, "from", "", "source database: sqlite:PATH, a plain path, or postgres://...")
	f.StringVar(&c.to, "to", "", "target database")
	return cmd
}

// run exits with 1 after the report of a differing copy, which must not be trusted.
func (c *copying) run(ctx context.Context) error {
	from, err := databaseFlag("--from", c.from)
	if err != nil {
		return err
	}
	to, err := databaseFlag("--to", c.to)
	if err != nil {
		return err
	}
	report, err := transfer.Copy(ctx, from, to, transfer.Options{Progress: c.progress})
	// An error message must not follow the progress on its line.
	c.clearProgress()
	if err != nil {
		return databaseError(err)
	}
	if err := c.print(report); err != nil {
		return err
	}
	if !report.Same {
		return exitError(exitFailure)
	}
	return nil
}

// databaseFlag parses a required DSN flag.
func databaseFlag(flag, dsn string) (config.DSN, error) {
	if dsn == "" {
		return config.DSN{}, usagef("%s must name a database, such as sqlite:tasker.db", flag)
	}
	at, err := config.ParseDSN(dsn)
	if err != nil {
		return config.DSN{}, usagef("%s: %w", flag, err)
	}
	return at, nil
}

// databaseError converts domain errors to those of the API, which decide the exit code. An invalid input is a usage
// error.
func databaseError(err error) error {
	var e *task.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &tasker.Error{Code: tasker.Code(e.Code), Message: err.Error(), Hint: e.Hint}
	for _, p := range e.Problems {
		out.Details = append(out.Details, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	if e.Code == task.Invalid { // a usage error
		return usageError{out}
	}
	return out
}

// progress overwrites one line of a terminal; it prints nothing into files, pipes or JSON.
func (c *copying) progress(table string, rows int64) {
	if c.s.ErrTerminal && !c.s.json {
		fmt.Fprintf(c.s.Err, "\r\x1b[K%s: %d rows", clean(table), rows)
	}
}

func (c *copying) clearProgress() {
	if c.s.ErrTerminal && !c.s.json {
		fmt.Fprint(c.s.Err, "\r\x1b[K")
	}
}

// print adds both checksums of differing tables.
func (c *copying) print(r *transfer.Report) error {
	if c.s.json {
		return c.s.printJSON(r)
	}
	t := c.s.newTable("TABLE", "COPIED", "SOURCE", "TARGET", "CHECKSUM", "")
	for _, table := range r.Tables {
		sum, verdict := table.SourceDigest, "same"
		if !table.Same {
			sum, verdict = table.SourceDigest+" / "+table.TargetDigest, "DIFFERS"
		}
		t.row(table.Name, strconv.FormatInt(table.Copied, 10), strconv.FormatInt(table.SourceRows, 10),
			strconv.FormatInt(table.TargetRows, 10), sum, verdict)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if !r.Same {
		return c.s.printf("\nThe databases differ. Check that no server uses either of them, then run the copy again.\n")
	}
	return c.s.printf("\n%s is now a complete copy of %s.\n", r.To, r.From)
}

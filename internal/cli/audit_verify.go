package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/operate"
)

type auditVerify struct {
	s        *session
	opts     operate.VerifyOptions
	db, file string
}

// newAuditVerify computes the hashes here, so the server need not be trusted. GET /v1/audit/chain needs read and a
// key without namespace limits. --from skips verified links.
func newAuditVerify(s *session) *cobra.Command {
	c := &auditVerify{s: s}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no act was changed, removed or inserted",
		Long: `Check the hash chain of the audit trail: find the first act that was changed, removed
or inserted. The command computes all hashes itself, from a server's answers, or from a
database (--db; stop the server of a SQLite file first) or an archive (--file).

Note the head that it prints in another place. Only a noted head (--head) can show that
the end of the chain was removed, that the whole chain was rewritten, or that the
database was restored from an older backup.

Acts are sealed about a second after they are done; until then they are waiting.

Exit code 0: no fault. 1: there is a fault.`,
		Example: `  tasker audit verify
  tasker audit verify --head 1204-9f3a... --json
  tasker audit verify --db postgres://tasker@db.example.com/tasker`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.opts.Head, "head", "", "head that was noted earlier; the chain must contain it")
	f.StringVar(&c.opts.From, "from", "", "head that was noted earlier; only check acts that were sealed later")
	f.StringVar(&c.db, "db", "", "read this database, not a server: sqlite:PATH, a plain path, or postgres://...")
	f.StringVar(&c.file, "file", "", "check an archive that tasker audit archive has written")
	cmd.MarkFlagsMutuallyExclusive("db", "file")
	return cmd
}

// run exits with 1 after reporting a fault.
func (c *auditVerify) run(ctx context.Context) error {
	chain, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	if c.s.ErrTerminal && !c.s.json {
		c.opts.Progress = func(links int64) { fmt.Fprintf(c.s.Err, "\r\x1b[K%d acts checked", links) }
	}
	report, err := operate.VerifyAudit(ctx, chain, c.opts)
	if c.opts.Progress != nil {
		fmt.Fprint(c.s.Err, "\r\x1b[K")
	}
	if err != nil { // an invalid head is a usage error
		return errors.Join(startError(err), done())
	}
	if err := done(); err != nil {
		return err
	}
	if err := c.s.printVerified(report); err != nil {
		return err
	}
	if !report.OK {
		return exitError(exitFailure)
	}
	return nil
}

// open opens the server, database or archive of the flags, and returns how to close it. Database errors exit like
// those of a start.
func (c *auditVerify) open(ctx context.Context) (operate.ChainBackend, func() error, error) {
	switch {
	case c.db != "":
		at, err := databaseFlag("--db", c.db)
		if err != nil {
			return nil, nil, err
		}
		trail, err := app.OpenAuditTrail(ctx, at)
		if err != nil {
			return nil, nil, startError(err)
		}
		return trail, trail.Close, nil
	case c.file != "":
		c.opts.Part = true
		f := &auditFile{path: c.file}
		return f, f.Close, nil
	}
	client, err := c.s.connect()
	if err != nil {
		return nil, nil, err
	}
	return operate.Of(client), client.Close, nil
}

// printVerified reports a fault instead of the counts, because links behind a broken one prove nothing. Late seals
// are a remark.
func (s *session) printVerified(r *operate.AuditReport) error {
	if s.json {
		return s.printJSON(r)
	}
	if r.Fault != nil {
		return s.printf("FAULT: %s\n%s checked before it; head %s\n", r.Fault.Message,
			wording.Count(int(r.Links), "act"), r.Head)
	}
	if err := s.printf("%s sealed, no fault\n%s waiting to be sealed\nhead %s\n", wording.Count(int(r.Links), "act"),
		wording.Count(int(r.Waiting), "act"), r.Head); err != nil {
		return err
	}
	if a := r.Archived; a != nil {
		by := ""
		if r.ArchiveAct != 0 {
			by = fmt.Sprintf(" by %s (act %d)", r.ArchivedBy, r.ArchiveAct)
		}
		if err := s.printf("The acts up to %s were archived at %s%s.\n", a.Head, stamp(&a.At), by); err != nil {
			return err
		}
	}
	if r.SealedLate > 0 {
		return s.printf("%s sealed more than 10 minutes after the time that it names, the first is act %d: it is older "+
			"than the chain, no server was running, or it was added with a false time.\n",
			wording.Count(int(r.SealedLate), "act"), r.FirstLate)
	}
	return nil
}

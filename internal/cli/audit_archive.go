package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/operate"
)

type auditArchive struct {
	s             *session
	db, before    string
	file          string
	actor, reason string
	until         time.Time
}

// newAuditArchive opens the database: neither an API key nor a server may delete acts. The archived acts leave
// `audit` and the API; the head of the archive stays, which keeps the chain whole.
func newAuditArchive(s *session) *cobra.Command {
	c := &auditArchive{s: s}
	cmd := &cobra.Command{
		Use:   "archive --db DSN --before TIME --to FILE",
		Short: "Move old acts into a file",
		Long: `Move the oldest acts of the audit trail into a file, and delete them from the database.

The file has a JSON line for each act, with its link of the hash chain. The command
writes and verifies the file before it deletes anything. The chain of the database then
starts behind the archived acts, and "tasker audit verify --file FILE" verifies the file.
The archiving is an act itself.

The command needs the database, not a server. Servers may run on PostgreSQL; stop the
server of a SQLite file first. An interrupted command leaves the file or acts that are
archived but not deleted; run it again with another file.`,
		Example: `  tasker audit archive --db postgres://tasker@db.example.com/tasker \
    --before 8760h --to acts-until-2025.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.db, "db", "", "database: sqlite:PATH, a plain path, or postgres://...")
	f.StringVar(&c.before, "before", "", "archive acts done before: a time, or an age such as 8760h")
	f.StringVar(&c.file, "to", "", "file to write; it must not exist")
	f.StringVar(&c.actor, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&c.reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

type archived struct {
	Acts    int64  `json:"acts"`
	Head    string `json:"head,omitempty"`
	File    string `json:"file,omitempty"`
	Deleted int    `json:"deleted"`
}

// run deletes nothing before the file is complete and verified. It reports deletions even if nothing new was
// archived.
func (c *auditArchive) run(ctx context.Context) error {
	at, err := databaseFlag("--db", c.db)
	if err != nil {
		return err
	}
	if c.before == "" || c.file == "" {
		return usagef("--before and --to are required")
	}
	if _, c.until, err = c.s.timeFlags("", c.before); err != nil {
		return err
	}
	trail, err := app.OpenAuditTrail(ctx, at)
	if err != nil {
		return startError(err)
	}
	out, err := c.archive(ctx, trail)
	if err = errors.Join(err, trail.Close()); err != nil {
		return err
	}
	if c.s.json {
		return c.s.printJSON(out)
	}
	if out.Acts == 0 {
		return c.s.printf("No acts to archive. %s deleted that were archived earlier.\n", wording.Count(out.Deleted, "act"))
	}
	return c.s.printf("%s archived in %s\n%s deleted\nhead of the archive %s\n", wording.Count(int(out.Acts), "act"),
		out.File, wording.Count(out.Deleted, "act"), out.Head)
}

// archive writes the file, verifies it, records the archive and deletes the acts, in this order: at any
// interruption each act is in the database or in a verified file.
func (c *auditArchive) archive(ctx context.Context, trail *app.AuditTrail) (*archived, error) {
	out := &archived{}
	n, err := c.export(ctx, trail)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		report, err := verifyFile(ctx, c.file)
		switch {
		case err != nil:
			return nil, err
		case !report.OK:
			return nil, fmt.Errorf("nothing was deleted: %s", report.Fault.Message)
		case report.Links != n:
			return nil, fmt.Errorf("nothing was deleted: %s has %d acts, not %d", c.file, report.Links, n)
		}
		out.Acts, out.Head = n, report.Head
		if out.File, err = filepath.Abs(c.file); err != nil {
			return nil, err
		}
		err = trail.Archive(ctx, app.AuditArchive{Head: out.Head, Acts: n, File: out.File, Actor: actor(c.actor),
			Reason: c.reason})
		if err != nil {
			return nil, err
		}
	}
	for more := true; more; {
		var deleted int
		if deleted, more, err = trail.Drop(ctx); err != nil {
			return nil, err
		}
		out.Deleted += deleted
	}
	return out, nil
}

// verifyFile checks the hashes of an archive without a database.
func verifyFile(ctx context.Context, path string) (*operate.AuditReport, error) {
	f := &auditFile{path: path}
	report, err := operate.VerifyAudit(ctx, f, operate.VerifyOptions{Part: true})
	return report, errors.Join(err, f.Close())
}

// export writes the beginning of the chain up to the first act at or after the time, and returns the number of
// acts. Without acts there is no file. It never overwrites; the file has mode 0600 and is synced.
func (c *auditArchive) export(ctx context.Context, trail operate.ChainBackend) (n int64, err error) {
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, usageError{err}
	}
	lines := bufio.NewWriter(file)
	n, err = c.lines(ctx, trail, json.NewEncoder(lines))
	if err == nil {
		err = lines.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil || n == 0 {
		err = errors.Join(err, os.Remove(c.file))
	}
	return n, err
}

// lines reads 500 links at a time and stops at the first act that is too young: the chain is archived from its
// beginning without holes.
func (c *auditArchive) lines(ctx context.Context, trail operate.ChainBackend, to *json.Encoder) (n int64, err error) {
	to.SetEscapeHTML(false)
	filter := operate.AuditChainFilter{Limit: 1}
	start, err := trail.AuditChain(ctx, filter)
	if err != nil {
		return 0, err
	}
	if last := len(start.Archives); last > 0 { // the earlier links may not be deleted yet
		filter.Above = start.Archives[last-1].Seq
	}
	if err := to.Encode(archiveHeader{archiveFormat, start.Archives}); err != nil {
		return 0, fmt.Errorf("write %s: %w", c.file, err)
	}
	for filter.Limit = 500; ; {
		page, err := trail.AuditChain(ctx, filter)
		if err != nil || len(page.Links) == 0 {
			return n, err
		}
		for _, l := range page.Links {
			if l.Act != nil && !l.Act.At.Before(c.until) {
				return n, nil
			}
			if err := to.Encode(l); err != nil {
				return n, fmt.Errorf("write link %d into %s: %w", l.Seq, c.file, err)
			}
			filter.Above = l.Seq
			n++
		}
	}
}

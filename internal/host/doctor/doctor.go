package doctor

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Status is the result of a check.
type Status string

// The statuses, best first.
// The exit code of the command follows from the worst one.
const (
	OK   Status = "ok"
	Warn Status = "warn" // it works, and should be looked at
	Fail Status = "fail" // it does not work, or loses what it promised to keep
)

// severity orders statuses, worst first.
// 0 is the worst.
func (s Status) severity() int { return slices.Index([]Status{Fail, Warn, OK}, s) }

// Check is the result of one check: what was seen and, unless the status is OK, what to do. Both are
// sentences for an operator; a program uses Name and Status.
type Check struct {
	// Name is stable: monitoring may compare it.
	Name   string `json:"name"`
	Status Status `json:"status"`
	Seen   string `json:"seen"`
	Do     string `json:"do,omitempty"` // what to do; empty if Status is OK
}

// Report is the result of an examination.
// Its JSON form is what the command prints with --json.
type Report struct {
	Database string  `json:"database"` // without its password
	Status   Status  `json:"status"`   // the worst
	Checks   []Check `json:"checks"`   // worst first
}

// Options are the settings of an examination; the zero value is valid.
type Options struct {
	// Now is this machine's clock. Defaults to time.Now.
	Now func() time.Time
	// Timeout bounds one check. Defaults to 30 s.
	Timeout time.Duration
	// PoolSize is the servers' configured bound on connections to PostgreSQL, where the DSN has none. 0
	// selects the store's default.
	PoolSize int
	// RabbitMQ is the configured RabbitMQ of the dispatch; without a URL it is not looked at.
	RabbitMQ config.Rabbitmq
	// Blobs is the configured store of large results.
	Blobs config.Blobs
	// Keys looks at what needs the encryption keys, and at nothing else: it reads every row.
	Keys bool
	// Limits are where warnings begin. Zero fields take their defaults.
	Limits Limits
}

// Of returns the Options that a configuration determines: every setting that a check looks at.
func Of(cfg *config.Config) Options {
	return Options{PoolSize: cfg.DB.PoolSize, RabbitMQ: cfg.MessageQueue.Rabbitmq, Blobs: cfg.Blobs}
}

// Limits are the thresholds of warnings. Zero fields take their defaults.
// They are exceeded by a fault, not by load: a healthy installation stays far below them.
type Limits struct {
	// Overdue is how long a lease, a timer or a deadline may remain after its time. A healthy
	// server handles them within seconds. Defaults to a minute.
	Overdue time.Duration
	// Silent is the maximum age of the last heartbeat of a live worker. Defaults to 5 minutes.
	Silent time.Duration
	// Transaction is the maximum age of a transaction; ten times that is a failure. Defaults to
	// a minute.
	Transaction time.Duration
	// Skew is the maximum difference between this machine's clock and the database's. Defaults
	// to a second.
	Skew time.Duration
	// DeadRows is the maximum number of rows of a table that vacuum has not removed, unless
	// they are fewer than a fifth of the live ones. Defaults to 50,000.
	DeadRows int64
	// WasteBytes is the maximum unused space of a table or index, or the maximum length of a
	// log, unless it is less than half of the whole. Defaults to 64 MiB.
	WasteBytes int64
}

// withDefaults replaces zero fields by their defaults.
func (l Limits) withDefaults() Limits {
	l.Overdue = cmp.Or(l.Overdue, time.Minute)
	l.Silent = cmp.Or(l.Silent, 5*time.Minute)
	l.Transaction = cmp.Or(l.Transaction, time.Minute)
	l.Skew = cmp.Or(l.Skew, time.Second)
	l.DeadRows = cmp.Or(l.DeadRows, 50_000)
	l.WasteBytes = cmp.Or(l.WasteBytes, 64<<20)
	return l
}

// Examine examines a database and changes nothing. It blocks for as long as the checks take,
// each at most Options.Timeout. An error means that nothing could be examined: *task.Error with
// NotFound (no such file), Invalid (the DSN) or Unavailable (no connection). A problem that was
// found is no error; see Report.Status.
func Examine(ctx context.Context, at config.DSN, opts Options) (*Report, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Limits = opts.Limits.withDefaults()
	switch at.Engine {
	case "postgres":
		return examinePostgres(ctx, at.Source(), opts)
	case "sqlite":
		path, err := filepath.Abs(at.Path)
		if err != nil {
			return nil, err
		}
		return examineSQLite(ctx, path, opts)
	}
	return nil, task.Errorf(task.Invalid, "%s lives in one process and cannot be looked at from outside", at)
}

// exam is one check, or several that share their queries. tx is read-only.
// Its checks may leave their names empty and then have that of the exam.
type exam struct {
	name string
	look func(ctx context.Context, tx *sql.Tx) ([]Check, error)
}

// patient is a database under examination.
// Its engine supplies begin and clock; the checks of the work need nothing else.
type patient struct {
	Options

	db *sql.DB
	// begin starts a read-only transaction that ends automatically after a time.
	begin func(ctx context.Context) (*sql.Tx, error)
	// clock is the time that decides when something is due.
	clock func(ctx context.Context, tx *sql.Tx) (task.Instant, error)
}

// brokers looks at the brokers that sources read, and at that of the dispatch.
func (p *patient) brokers(ctx context.Context) (checks []Check, err error) {
	for _, look := range []func(context.Context) ([]Check, error){p.redis, p.kafka, p.rabbit, p.blobStore} {
		found, err := look(ctx)
		checks = append(checks, found...)
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// examine runs the exams one after the other. An exam that fails becomes a warning, because a
// role without a permission must still get the other results.
// The results are in the order of the exams. The error is that of ctx only.
func (p *patient) examine(ctx context.Context, exams []exam) ([]Check, error) {
	var checks []Check
	for _, e := range exams {
		found, err := p.one(ctx, e)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			found = []Check{{e.name, Warn, "could not be looked at: " + reason(err), "Find out why, and run doctor again; " +
				"--timeout gives a check more time."}}
		}
		for _, c := range found {
			c.Name = cmp.Or(c.Name, e.name)
			checks = append(checks, c)
		}
	}
	return checks, nil
}

// one runs an exam in a transaction of its own, within the timeout.
// A transaction per exam keeps a slow one from holding back vacuum longer than its own timeout.
func (p *patient) one(ctx context.Context, e exam) ([]Check, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	tx, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return e.look(ctx, tx)
}

// reason formats an error for a warning.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	return err.Error()
}

// report makes a report of checks, worst first.
// Checks of the same status stay in the order in which they ran.
func report(database string, checks []Check) *Report {
	slices.SortStableFunc(checks, func(a, b Check) int { return a.Status.severity() - b.Status.severity() })
	r := &Report{Database: database, Status: OK, Checks: checks}
	if len(checks) > 0 {
		r.Status = checks[0].Status
	}
	return r
}

// ok is a check that found nothing wrong.
// There is nothing to do, so Do is empty.
func ok(format string, args ...any) []Check {
	return []Check{{Status: OK, Seen: fmt.Sprintf(format, args...)}}
}

// list reads all rows of a query.
func list[T any](ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) (T, error), query string,
	args ...any,
) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

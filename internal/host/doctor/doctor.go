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

// The statuses, best first. The worst one determines the exit code of the command.
const (
	OK   Status = "ok"
	Warn Status = "warn" // it works but needs attention
	Fail Status = "fail" // it fails, or loses data
)

// severity orders statuses; 0 is the worst.
func (s Status) severity() int { return slices.Index([]Status{Fail, Warn, OK}, s) }

// Check is the result of one check: the observation and, unless the status is OK, the advice. Both are sentences
// for an operator; a program uses Name and Status.
type Check struct {
	// Name is stable for monitoring.
	Name   string `json:"name"`
	Status Status `json:"status"`
	Seen   string `json:"seen"`
	Do     string `json:"do,omitempty"` // advice; "" for OK
}

// Report is the result of an examination. Its JSON form is the output of --json.
type Report struct {
	Database string  `json:"database"` // without its password
	Status   Status  `json:"status"`   // the worst
	Checks   []Check `json:"checks"`   // worst first
}

// Options are the settings of an examination; the zero value is valid.
type Options struct {
	// Now is this machine's clock; by default time.Now.
	Now     func() time.Time
	Timeout time.Duration
	// PoolSize is the servers' configured bound on connections to PostgreSQL, if the DSN has none; 0 is the store's
	// default.
	PoolSize int
	// RabbitMQ is examined if it has a URL.
	RabbitMQ config.Rabbitmq
	Blobs    config.Blobs
	// Keys checks only the uses of encryption keys, which reads every row.
	Keys   bool
	Limits Limits
}

// Of returns the Options of a configuration.
func Of(cfg *config.Config) Options {
	return Options{PoolSize: cfg.DB.PoolSize, RabbitMQ: cfg.MessageQueue.Rabbitmq, Blobs: cfg.Blobs}
}

// Limits are the thresholds of warnings; zero fields take defaults. Faults exceed them, not load: a healthy
// installation stays far below.
type Limits struct {
	// Overdue bounds how late a lease, a timer or a deadline may be; a healthy server handles them within seconds.
	Overdue time.Duration
	// Silent is the maximum age of a live worker's last heartbeat.
	Silent time.Duration
	// Transaction is the maximum age of a transaction; ten times that is a failure.
	Transaction time.Duration
	// Skew is the maximum difference between this machine's clock and the database's.
	Skew time.Duration
	// DeadRows bounds a table's rows that vacuum has not removed, unless they are fewer than a fifth of the live
	// ones.
	DeadRows int64
	// WasteBytes bounds the unused space of a table or index, or the length of a log, unless it is less than half
	// of the whole.
	WasteBytes int64
}

func (l Limits) withDefaults() Limits {
	l.Overdue = cmp.Or(l.Overdue, time.Minute)
	l.Silent = cmp.Or(l.Silent, 5*time.Minute)
	l.Transaction = cmp.Or(l.Transaction, time.Minute)
	l.Skew = cmp.Or(l.Skew, time.Second)
	l.DeadRows = cmp.Or(l.DeadRows, 50_000)
	l.WasteBytes = cmp.Or(l.WasteBytes, 64<<20)
	return l
}

// Examine examines a database without changes. It blocks while the checks run, each at most Options.Timeout. An
// error means that nothing could be examined: *task.Error with NotFound (no such file), Invalid (the DSN) or
// Unavailable (no connection). Problems are in Report.Status.
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

// exam is one check, or several with shared queries; tx is read-only. Its name is the default of the checks' names.
type exam struct {
	name string
	look func(ctx context.Context, tx *sql.Tx) ([]Check, error)
}

// patient is a database under examination.
type patient struct {
	Options

	db *sql.DB
	// begin starts a read-only transaction with a time-out.
	begin func(ctx context.Context) (*sql.Tx, error)
	// clock is the time that decides whether something is due.
	clock func(ctx context.Context, tx *sql.Tx) (task.Instant, error)
}

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

// examine turns a failed exam into a warning, because a role without a permission must still get the other results.
// Results are in the order of the exams. Only ctx causes an error.
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

// A transaction per exam keeps a slow one from holding back vacuum beyond its time-out.
func (p *patient) one(ctx context.Context, e exam) ([]Check, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	tx, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // read-only
	return e.look(ctx, tx)
}

func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	return err.Error()
}

// report sorts checks, worst first, otherwise in the order of the exams.
func report(database string, checks []Check) *Report {
	slices.SortStableFunc(checks, func(a, b Check) int { return a.Status.severity() - b.Status.severity() })
	r := &Report{Database: database, Status: OK, Checks: checks}
	if len(checks) > 0 {
		r.Status = checks[0].Status
	}
	return r
}

func ok(format string, args ...any) []Check {
	return []Check{{Status: OK, Seen: fmt.Sprintf(format, args...)}}
}

func list[T any](ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) (T, error), query string, args ...any,
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

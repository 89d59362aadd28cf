package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

type server struct {
	patient
	at   postgres.DSN
	skew time.Duration // how far the database's clock is ahead of ours
	trip time.Duration // round trip
}

// examinePostgres connects, compares the schema and runs the exams, those of Tasker's tables only if there are any.
// It uses the database, schema and role of a server with this DSN.
func examinePostgres(ctx context.Context, dsn string, opts Options) (*Report, error) {
	at, err := postgres.ParseDSN(postgres.WithPoolSize(dsn, opts.PoolSize))
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*at.Pool.ConnConfig)
	defer db.Close()
	db.SetMaxOpenConns(1) // must find a place even if there are hardly any
	s := &server{at: at}
	s.patient = patient{Options: opts, db: db, begin: s.begin, clock: databaseTime}
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	checks, there, err := s.schema(ctx)
	if err != nil {
		return nil, err
	}
	exams := []exam{{"server", s.version}, {"settings", s.settings}, {"connections", s.connections},
		{"clock", s.clockSkew}, {"transactions", s.transactions}, {"prepared_transactions", s.prepared},
		{"replication_slots", s.slots}, {"transaction_ids", s.wraparound}}
	// Without tables these queries would fail and hide the one cause.
	if there {
		exams = append(exams, exam{"clock_step", s.clockStep}, exam{"indexes", s.indexes}, exam{"table_bloat", s.tableBloat},
			exam{"index_bloat", s.indexBloat},
			exam{"dead_rows", s.deadRows}, exam{"autovacuum", s.autovacuum}, exam{"turns", s.turns})
		exams = append(exams, s.workExams("a server runs on this database")...)
	}
	if there && opts.Keys {
		found, err := s.examine(ctx, []exam{{"encryption", s.keys}})
		return report(at.String(), found), err
	}
	more, err := s.examine(ctx, exams)
	if there && err == nil {
		var found []Check
		found, err = s.brokers(ctx)
		more = append(more, found...)
	}
	return report(at.String(), append(checks, more...)), err
}

// begin configures the session inside the transaction, because through PgBouncer another client uses the session
// afterwards. The database enforces the time-outs even if this process dies.
func (s *server) begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	schema := ""
	if s.at.PgBouncer {
		schema = s.at.Schema
	}
	const settings = `SELECT set_config('statement_timeout', $1::text, true), set_config('lock_timeout', $1::text, true),
 set_config('search_path', coalesce(nullif($2::text, ''), current_setting('search_path')), true)`
	if _, err := tx.ExecContext(ctx, settings, strconv.FormatInt(s.Timeout.Milliseconds(), 10), schema); err != nil {
		_ = tx.Rollback() // the first failure matters
		return nil, err
	}
	return tx, nil
}

// databaseTime is the time that decides on PostgreSQL. Each exam reads it anew, since an examination may take
// minutes.
func databaseTime(ctx context.Context, tx *sql.Tx) (task.Instant, error) {
	var now int64
	err := tx.QueryRowContext(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&now)
	return task.Instant(now), err
}

// reach connects and compares the clocks: of three readings the one with the shortest round trip is the most exact.
// Its error ends the examination.
func (s *server) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	tx, err := s.begin(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = tx.Rollback() }() // read-only
	for i := range 3 {
		asked := s.Now()
		theirs, err := databaseTime(ctx, tx)
		if err != nil {
			return unreachable(err)
		}
		if trip := s.Now().Sub(asked); i == 0 || trip < s.trip {
			s.trip, s.skew = trip, theirs.Sub(task.At(asked.Add(trip/2)))
		}
	}
	return nil
}

// unreachable: pgx's text contains user, database and host, but no password.
func unreachable(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		code := task.Unavailable
		if len(refused.Code) == 5 && (refused.Code[:2] == "28" || refused.Code == "3D000") { // a wrong user or database
			code = task.Invalid
		}
		return &task.Error{Code: code, Message: "PostgreSQL refuses: " + refused.Message,
			Hint: "check user, password and database of the DSN", Err: err}
	}
	return &task.Error{Code: task.Unavailable, Message: fmt.Sprintf("PostgreSQL does not answer: %v", err),
		Hint: "is it running, and does the DSN name the right host and port?", Err: err}
}

// schema uses a connection besides that of the exams.
func (s *server) schema(ctx context.Context) ([]Check, bool, error) {
	m, done, err := postgres.Migrator(s.at)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	checks, there, err := schema(ctx, m)
	return checks, there, errors.Join(err, done())
}

// clockSkew uses the reading of reach. It tolerates half of the round trip, the uncertainty.
func (s *server) clockSkew(context.Context, *sql.Tx) ([]Check, error) {
	ahead, word := apart(s.skew)
	if ahead <= s.Limits.Skew+s.trip/2 {
		return ok("the database's clock is %s %s this machine's; an answer takes %s", long(ahead), word, long(s.trip)), nil
	}
	return []Check{{Status: Warn, Seen: fmt.Sprintf("the database's clock is %s %s this machine's", long(ahead), word),
		Do: "The database's time decides, so work is done in time; but logs of different machines do not agree, and run_at " +
			"means the database's time. Let NTP set both clocks."}}, nil
}

// clockStep reports nodes that distrust the database's clock.
func (s *server) clockStep(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	step, err := postgres.SuspectedStep(ctx, tx)
	if err != nil {
		return nil, err
	}
	by, word := apart(step)
	if by == 0 {
		return ok("no node doubts the database's clock"), nil
	}
	return []Check{{Status: Fail, Seen: fmt.Sprintf("the database's clock is %s %s the time of the nodes", long(by),
		word), Do: "The nodes follow such a step when it has lasted for a minute, and what is due by then becomes due at " +
		"once. If the clock is wrong, set it right before; let NTP set it."}}, nil
}

func apart(ahead time.Duration) (by time.Duration, word string) {
	if ahead < 0 {
		return -ahead, "behind"
	}
	return ahead, "ahead of"
}

// turns shows the process of each background loop. Without any, nothing is retried or reaped. An expired turn stays
// in the table and dates the last server.
func (s *server) turns(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	now, err := databaseTime(ctx, tx)
	if err != nil {
		return nil, err
	}
	type turn struct {
		node, loops string
		until       int64
	}
	all, err := list(ctx, tx, func(rows *sql.Rows) (t turn, err error) {
		return t, rows.Scan(&t.node, &t.loops, &t.until)
	},
		`SELECT node::text, string_agg(loop, ', ' ORDER BY loop), max(held_until) FROM tasker_turns GROUP BY node
  ORDER BY node`)
	if err != nil {
		return nil, err
	}
	var alive []string
	var last task.Instant
	for _, t := range all {
		last = max(last, task.Instant(t.until))
		if task.Instant(t.until) > now {
			alive = append(alive, fmt.Sprintf("node %.8s has %s", t.node, t.loops))
		}
	}
	if len(alive) > 0 {
		return ok("%s", joined(alive)), nil
	}
	seen := "no server uses this database"
	if last != 0 {
		seen += fmt.Sprintf("; the last one was %s ago", long(now.Sub(last)))
	} else {
		seen += ", and none ever was"
	}
	return []Check{{Status: Warn, Seen: seen, Do: "Start one: until then no step is claimed, retried or reaped."}}, nil
}

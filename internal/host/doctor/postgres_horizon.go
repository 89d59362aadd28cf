package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// These checks find obstacles to vacuum: a dead row stays as long as a transaction might see it, and every claim
// walks over it.

// old rates the age of an obstacle: a warning from Limits.Transaction, a failure from ten times that. Claims slow
// down with each dead row, so the age matters, not the size.
func (s *server) old(age time.Duration) Status {
	switch {
	case age < s.Limits.Transaction:
		return OK
	case age < 10*s.Limits.Transaction:
		return Warn
	}
	return Fail
}

// transactions finds sessions with an old snapshot or transaction. A role without pg_read_all_stats sees neither
// age nor state of others' sessions, only the number of transactions since. Sessions of other databases are not
// shown, although some hold vacuum back, too.
func (s *server) transactions(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const query = `SELECT pid, coalesce(usename::text, ''), coalesce(application_name, ''), coalesce(state, ''),
 extract(epoch FROM clock_timestamp() - xact_start)::float8, coalesce(greatest(age(backend_xmin), age(backend_xid)), 0)
 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type IN ('client backend', 'walsender', 'parallel worker')
 AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state LIKE 'idle in transaction%')
 ORDER BY xact_start NULLS LAST`
	type session struct {
		pid              int64
		role, app, state string
		age              sql.NullFloat64
		xids             int64
	}
	all, err := list(ctx, tx, func(rows *sql.Rows) (t session, err error) {
		return t, rows.Scan(&t.pid, &t.role, &t.app, &t.state, &t.age, &t.xids)
	}, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	var oldest time.Duration
	for _, t := range all {
		who := fmt.Sprintf("session %d of role %s (%s)", t.pid, t.role, t.app)
		if !t.age.Valid {
			if t.xids > manyTransactions {
				checks = append(checks, Check{Status: Warn,
					Seen: fmt.Sprintf("%s holds a snapshot that is %d transactions old", who, t.xids),
					Do: "Find out whose it is (grant pg_read_all_stats to see more) and end it, or turn hot_standby_feedback off if " +
						"it is a standby."})
			}
			continue
		}
		age := time.Duration(t.age.Float64 * float64(time.Second))
		oldest = max(oldest, age)
		if status := s.old(age); status != OK {
			checks = append(checks, Check{Status: status,
				Seen: fmt.Sprintf("%s has a transaction open for %s, %s", who, long(age), t.state),
				Do: fmt.Sprintf("Vacuum removes nothing that was deleted since. End it where it comes from, or with SELECT "+
					"pg_terminate_backend(%d); set idle_in_transaction_session_timeout for that role.", t.pid)})
		}
	}
	if len(checks) == 0 {
		return ok("%d are open, the oldest for %s", len(all), long(oldest)), nil
	}
	return checks, nil
}

// manyTransactions since a snapshot make it old if its age in time is unknown.
const manyTransactions = 1_000_000

// Forgotten prepared transactions survive restarts, and no session shows them.
func (s *server) prepared(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const query = `SELECT gid, owner::text, extract(epoch FROM clock_timestamp() - prepared)::float8
  FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared`
	type transaction struct {
		gid, owner string
		age        float64
	}
	all, err := list(ctx, tx, func(rows *sql.Rows) (t transaction, err error) {
		return t, rows.Scan(&t.gid, &t.owner, &t.age)
	}, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, t := range all {
		age := time.Duration(t.age * float64(time.Second))
		if status := s.old(age); status != OK {
			checks = append(checks, Check{Status: status, Seen: fmt.Sprintf("the prepared transaction %s of %s has been open "+
				"for %s and holds vacuum back", t.gid, t.owner, long(age)),
				Do: "It survives restarts and belongs to no session: run ROLLBACK PREPARED or COMMIT PREPARED with its name."})
		}
	}
	if len(checks) == 0 {
		return ok("%d are open", len(all)), nil
	}
	return checks, nil
}

// Replication slots without a reader keep the write-ahead log, and perhaps dead rows, without a limit. A slot that
// is read on a standby is normal.
func (s *server) slots(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const query = `SELECT slot_name::text, active, coalesce(age(xmin), 0),
 coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
  restart_lsn), 0)::bigint
 FROM pg_replication_slots ORDER BY slot_name`
	type slot struct {
		name       string
		active     bool
		xids, kept int64
	}
	all, err := list(ctx, tx, func(rows *sql.Rows) (t slot, err error) {
		return t, rows.Scan(&t.name, &t.active, &t.xids, &t.kept)
	}, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, t := range all {
		drop := fmt.Sprintf("If it is no longer needed, run SELECT pg_drop_replication_slot('%s').", t.name)
		switch {
		// 1 GiB by default.
		case !t.active && t.kept > 16*s.Limits.WasteBytes:
			checks = append(checks, Check{Status: Fail, Seen: fmt.Sprintf("slot %s is unused, and %s of write-ahead log are "+
				"kept for it: the disk will fill up", t.name, size(t.kept)), Do: drop})
		case !t.active:
			checks = append(checks, Check{Status: Warn,
				Seen: fmt.Sprintf("slot %s is unused; %s of write-ahead log are kept for it", t.name, size(t.kept)), Do: drop})
		case t.xids > manyTransactions:
			checks = append(checks, Check{Status: Warn,
				Seen: fmt.Sprintf("slot %s holds back vacuum by %d transactions", t.name, t.xids),
				Do: "A long query on that standby, with hot_standby_feedback, does this: " +
					"end the query, or turn the feedback off."})
		}
	}
	if len(checks) == 0 {
		return ok("%d, all read from", len(all)), nil
	}
	return checks, nil
}

// wraparound counts the transactions until PostgreSQL stops accepting writes, about 2,000 million after the oldest
// unfrozen row. It warns from 40 % and fails from 80 %.
func (s *server) wraparound(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	var age int64
	if err := tx.QueryRowContext(ctx, `SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()`).Scan(
		&age); err != nil {
		return nil, err
	}
	seen := fmt.Sprintf("%d of 2000 million transactions since the oldest row that is not frozen", age/1_000_000)
	do := "End whatever holds vacuum back, then run VACUUM (FREEZE) on the tables with the highest age(relfrozenxid); " +
		"PostgreSQL stops taking writes at the end."
	switch {
	// Autovacuum starts to freeze at 200 million and has failed for long by then.
	case age > 1_600_000_000:
		return []Check{{Status: Fail, Seen: seen, Do: do}}, nil
	case age > 800_000_000:
		return []Check{{Status: Warn, Seen: seen, Do: do}}, nil
	}
	return ok("%s", seen), nil
}

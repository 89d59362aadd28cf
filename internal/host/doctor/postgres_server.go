package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// oldest is the minimum version, as PostgreSQL counts: 15.
const oldest = 150000

// version checks version, role and encoding independently.
func (s *server) version(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	var number int
	var standby bool
	var encoding string
	const query = `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
  current_setting('server_encoding')`
	if err := tx.QueryRowContext(ctx, query).Scan(&number, &standby, &encoding); err != nil {
		return nil, err
	}
	version := fmt.Sprintf("PostgreSQL %d.%d", number/10000, number%10000)
	var checks []Check
	if number < oldest {
		checks = append(checks, Check{Status: Fail, Seen: version + " is older than Tasker works with",
			Do: fmt.Sprintf("Upgrade to PostgreSQL %d or newer.", oldest/10000)})
	}
	if standby {
		checks = append(checks, Check{Status: Fail, Seen: "this is a standby, which cannot be written to",
			Do: "Name the primary in the DSN; with several hosts, add target_session_attrs=read-write."})
	}
	if encoding != "UTF8" {
		checks = append(checks, Check{Status: Fail,
			Seen: "the database is encoded in " + encoding + ", which cannot keep every text",
			Do:   "Create a database with ENCODING 'UTF8' and copy the work there with tasker copy."})
	}
	if len(checks) == 0 {
		return ok("%s", version), nil
	}
	return checks, nil
}

// setting is a setting of PostgreSQL with its harmful values. why follows "NAME is VALUE: ", and do is the advice.
type setting struct {
	name   string
	hurts  func(value string) bool
	status Status
	why    string
	do     string
}

func is(bad string) func(string) bool { return func(v string) bool { return v == bad } }

// A missing setting does not match; see settings.
func isNot(good ...string) func(string) bool {
	return func(v string) bool {
		for _, g := range good {
			if v == g {
				return false
			}
		}
		return true
	}
}

// below matches a time-out, in milliseconds, shorter than limit; 0 is none.
func below(limit int) func(string) bool {
	return func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n > 0 && n < limit
	}
}

// hurtful settings break a guarantee or slowly stop the database. Settings that only cost speed may be deliberate.
var hurtful = []setting{
	{"fsync", is("off"), Fail, "when the machine fails, the whole database may be lost", "Set fsync = on."},
	{"full_page_writes", is("off"), Fail, "when the machine fails, pages may be torn", "Set full_page_writes = on."},
	{"synchronous_commit", is("off"), Fail, "tasks and results that callers were told of are lost when the server crashes",
		"Set synchronous_commit = on, for the role of Tasker at least."},
	{"autovacuum", is("off"), Fail, "dead rows are never removed, and every claim walks over them",
		"Set autovacuum = on."},
	{"track_counts", is("off"), Fail, "autovacuum does not see what there is to do", "Set track_counts = on."},
	{"track_activities", is("off"), Warn, "the sessions that block vacuum are not visible, not even to doctor",
		"Set track_activities = on."},
	{"default_transaction_read_only", is("on"), Fail, "Tasker cannot write",
		"Set default_transaction_read_only = off for the role, or name another server."},
	{"default_transaction_isolation", isNot("read committed"), Warn,
		"transactions of Tasker fail and are run again where they would have waited",
		"Set default_transaction_isolation = 'read committed' for the role of Tasker."},
	// Retention and large batches have longer statements.
	{"statement_timeout", below(5000), Warn, "large batches and retention are cut off",
		"Raise it to 15 s or more for the role of Tasker, or set it to 0: Tasker bounds its statements itself."},
	{"transaction_timeout", below(5000), Warn, "large batches and retention are cut off",
		"Raise it to 15 s or more for the role of Tasker, or set it to 0."},
	{"lock_timeout", below(1000), Warn, "a transaction that waits for another for a moment fails",
		"Raise it to 5 s or more for the role of Tasker, or set it to 0."},
	{"vacuum_defer_cleanup_age", isNot("0"), Warn, "dead rows are kept for that many transactions more",
		"Set vacuum_defer_cleanup_age = 0; hot_standby_feedback is the better way."},
}

// settings checks the settings of a session of this role, which may differ from the server's. It ignores those that
// the version lacks.
func (s *server) settings(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	// The transaction itself sets two of them; reset_val is the role's.
	const query = `SELECT name, CASE WHEN name IN ('statement_timeout', 'lock_timeout') THEN reset_val ELSE setting END
  FROM pg_settings`
	values := map[string]string{}
	_, err := list(ctx, tx, func(rows *sql.Rows) (struct{}, error) {
		var name, value string
		err := rows.Scan(&name, &value)
		values[name] = value
		return struct{}{}, err
	}, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, h := range hurtful {
		if v, exists := values[h.name]; exists && h.hurts(v) {
			checks = append(checks, Check{Status: h.status, Seen: fmt.Sprintf("%s is %s: %s", h.name, v, h.why), Do: h.do})
		}
	}
	if len(checks) == 0 {
		return ok("none of %d that could hurt does", len(hurtful)), nil
	}
	return checks, nil
}

// connections compares the used connections with the maximum and with the pool of a server with this DSN.
func (s *server) connections(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	var used, ours, room int
	const query = `SELECT count(*), count(*) FILTER (WHERE usename = current_user),
 current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  - coalesce(current_setting('reserved_connections', true)::int, 0)
 FROM pg_stat_activity WHERE backend_type = 'client backend'`
	if err := tx.QueryRowContext(ctx, query).Scan(&used, &ours, &room); err != nil {
		return nil, err
	}
	seen := fmt.Sprintf("%d of %d connections are in use, %d of them by this role", used, room, ours)
	advice :=
		"Lower db.pool_size of the servers (or pool_max_conns of the DSN), raise max_connections, or put PgBouncer " +
			"in between."
	// From 90 %, the next server may not get its connections.
	full := used*10 > room*9
	if !s.at.PgBouncer {
		// One more for notifications.
		perNode := int(s.at.Pool.MaxConns) + 1
		seen += fmt.Sprintf("; a server with this DSN opens up to %d", perNode)
		full = full || perNode > room
	}
	if full {
		return []Check{{Status: Warn, Seen: seen, Do: advice}}, nil
	}
	return ok("%s", seen), nil
}

func joined(parts []string) string { return strings.Join(parts, "; ") }

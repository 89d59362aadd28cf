package audit_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
)

// noon is the time of every act and seal: 1 March 2026.
const noon = task.Instant(1_772_366_400_000_000)

type database interface {
	audit.Database
	Close() error
}

// rig is an audit trail on a database that a test can reopen, and change behind the store's back.
type rig struct {
	t    *testing.T
	open func() database
	raw  func() *sql.DB
	lite bool

	db    database
	trail *audit.Trail
	now   task.Instant
}

func onEveryDatabase(t *testing.T, script func(r *rig)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := sqlitetest.File(t)
		script(newRig(&rig{t: t, lite: true, open: func() database {
			s, err := sqlite.Open(context.Background(), path, nil)
			return must(t, s, err)
		}, raw: func() *sql.DB {
			db, err := sql.Open("sqlite", path)
			return must(t, db, err)
		}}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := postgrestest.DSN(t)
		script(newRig(&rig{t: t, open: func() database {
			s, err := postgres.Open(context.Background(), dsn, nil)
			return must(t, s, err)
		}, raw: func() *sql.DB {
			d, err := postgres.ParseDSN(dsn)
			return stdlib.OpenDB(*must(t, d, err).Pool.ConnConfig)
		}}))
	})
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newRig(r *rig) *rig {
	r.now = noon
	r.reopen()
	r.t.Cleanup(func() {
		if err := r.db.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	})
	return r
}

func (r *rig) reopen() {
	r.db = r.open()
	r.trail = audit.New(r.db, func() task.Instant { return r.now }, 1<<20)
}

func (r *rig) add(n int) {
	r.t.Helper()
	for i := range n {
		r.write(task.Act{At: r.now, Kind: "use_key", Actor: fmt.Sprintf("actor %d", i), Auth: task.AuthKey, Key: "ops",
			Reason: "a <b> & c", Data: []byte(`{"n":  1, "s": "<é>"}`)})
	}
}

func (r *rig) write(acts ...task.Act) {
	r.t.Helper()
	err := r.db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return r.db.ActStore().AddActs(ctx, tx, acts)
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) seal() (sealed int) {
	r.t.Helper()
	for {
		n, more, err := r.trail.Seal(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if sealed += n; !more {
			return sealed
		}
	}
}

func (r *rig) verify(opts operate.VerifyOptions) *operate.AuditReport {
	r.t.Helper()
	report, err := operate.VerifyAudit(r.t.Context(), local.NewChain(r.trail), opts)
	return must(r.t, report, err)
}

// sound verifies everything without a fault.
func (r *rig) sound() *operate.AuditReport {
	r.t.Helper()
	report := r.verify(operate.VerifyOptions{})
	if !report.OK || report.Fault != nil {
		r.t.Fatalf("the trail has the fault %+v", report.Fault)
	}
	return report
}

// tamper runs statements like an owner of the database, without triggers.
func (r *rig) tamper(statements ...string) {
	r.t.Helper()
	if r.lite { // one process has it open
		if err := r.db.Close(); err != nil {
			r.t.Fatal(err)
		}
		defer r.reopen()
	}
	db := r.raw()
	defer db.Close()
	before, after := withoutTriggers(r, db)
	for _, s := range append(append(before, statements...), after...) {
		if _, err := db.ExecContext(r.t.Context(), s); err != nil {
			r.t.Fatalf("%s: %v", s, err)
		}
	}
}

var tables = []string{"tasker_acts", "tasker_act_links", "tasker_act_unsealed"}

func (r *rig) snapshot() {
	r.t.Helper()
	var statements []string
	for _, table := range tables {
		statements = append(statements, "CREATE TABLE kept_"+table+" AS SELECT * FROM "+table)
	}
	r.tamper(statements...)
}

func (r *rig) restore() {
	r.t.Helper()
	var statements []string
	for _, table := range tables {
		overriding := ""
		if table == "tasker_acts" && !r.lite {
			overriding = " OVERRIDING SYSTEM VALUE"
		}
		statements = append(statements, "DELETE FROM "+table, "INSERT INTO "+table+overriding+" SELECT * FROM kept_"+table)
	}
	r.tamper(statements...)
}

func withoutTriggers(r *rig, db *sql.DB) (before, after []string) {
	if !r.lite {
		for _, table := range []string{"tasker_acts", "tasker_act_links", "tasker_act_archives"} {
			before = append(before, "ALTER TABLE "+table+" DISABLE TRIGGER USER")
			after = append(after, "ALTER TABLE "+table+" ENABLE TRIGGER USER")
		}
		return before, after
	}
	rows, err := db.QueryContext(r.t.Context(), `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'
  AND tbl_name LIKE 'tasker_act%'`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, sql string
		if err := rows.Scan(&name, &sql); err != nil {
			r.t.Fatal(err)
		}
		before, after = append(before, "DROP TRIGGER "+name), append(after, sql)
	}
	if rows.Err() != nil || len(before) < 8 {
		r.t.Fatalf("the file has %d triggers, %v", len(before), rows.Err())
	}
	return before, after
}

func (r *rig) refused(statement string) {
	r.t.Helper()
	db := r.raw()
	defer db.Close()
	_, err := db.ExecContext(r.t.Context(), statement)
	if err == nil || !strings.Contains(err.Error(), "only ever added") {
		r.t.Errorf("%s: %v, want a refusal", statement, err)
	}
}

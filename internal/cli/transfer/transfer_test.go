package transfer_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/cli/transfer"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func copyAll(ctx context.Context, t *testing.T, from, to string, opts transfer.Options) (*transfer.Report, error) {
	t.Helper()
	source, err := config.ParseDSN(from)
	if err != nil {
		t.Fatal(err)
	}
	target, err := config.ParseDSN(to)
	if err != nil {
		t.Fatal(err)
	}
	return transfer.Copy(ctx, source, target, opts)
}

func mustCopy(t *testing.T, from, to string) *transfer.Report {
	t.Helper()
	r, err := copyAll(t.Context(), t, from, to, transfer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Same {
		t.Fatalf("after the copy the databases differ: %+v", r.Tables)
	}
	return r
}

func added(r *transfer.Report) (n int64) {
	for _, t := range r.Tables {
		n += t.Copied
	}
	return n
}

func path(dsn string) string { return strings.TrimPrefix(dsn, "sqlite:") }

// TestCopyThroughPostgres copies SQLite to PostgreSQL, to another PostgreSQL, and back, and compares the API's
// answers.
func TestCopyThroughPostgres(t *testing.T) {
	t.Parallel()
	from := filled(t, 4)
	in := install(t, openSQLite(t, path(from)))
	in.bulk(t, 1300) // more than a page
	in.close(t)
	first, second, back := pgtest.DSN(t), pgtest.DSN(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	r := mustCopy(t, from, first)
	if len(r.Tables) < 10 || added(r) < 2600 {
		t.Errorf("%d rows of %d tables were copied", added(r), len(r.Tables))
	}
	again := mustCopy(t, from, first)
	if added(again) != 0 {
		t.Errorf("a second copy added %d rows", added(again))
	}
	mustCopy(t, first, second)
	mustCopy(t, second, back)
	mustCopy(t, from, back)

	origin := openSQLite(t, path(from))
	source := install(t, origin)
	defer source.close(t)
	want, letters := source.show(t), showInbox(t, origin.(inboxStore))
	for name, s := range map[string]engine.Database{"PostgreSQL": openPostgres(t, second),
		"SQLite": openSQLite(t, path(back))} {
		if diff := cmp.Diff(letters, showInbox(t, s.(inboxStore))); diff != "" {
			t.Errorf("on %s the inbox says something else (-source +target):\n%s", name, diff)
		}
		in := install(t, s)
		if diff := cmp.Diff(want, in.show(t)); diff != "" {
			t.Errorf("on %s the API says something else (-source +target):\n%s", name, diff)
		}
		in.fill(t, 1) // numbers and IDs continue
		in.close(t)
	}
}

func TestCopyIsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]func(t *testing.T) string{
		"Postgres": func(t *testing.T) string { return pgtest.DSN(t) },
		"SQLite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "to.db") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := filled(t, 2), to(t)
			ctx, cut := contextWithCut(t)
			_, err := copyAll(ctx, t, from, to, transfer.Options{Progress: func(table string, _ int64) {
				if table == "tasker_task_tags" {
					cut()
				}
			}})
			if err == nil {
				t.Fatal("a copy that was interrupted did not fail")
			}
			if n := added(mustCopy(t, from, to)); n == 0 {
				t.Error("nothing was left to copy")
			}
		})
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		from, to func(t *testing.T) string
		code     task.Code
		want     string
	}{
		{"NoSource", missing, fresh, task.NotFound, "there is no file"},
		{"Memory", constant("memory:"), fresh, task.Invalid, "gone with its process"},
		{"PostgresWithoutSchema", schema, fresh, task.Invalid, "pending"},
		{"OtherTasks", one, one, task.Conflict, "another seed"},
		{"OtherTasksOnPostgres", one, filledPostgres, task.Conflict, "the target holds other data"},
		{"IDsOfTwoProcesses", filledPostgresTwice, fresh, task.Conflict, "not made from the same seed"},
		{"SourceInUse", inUse, fresh, task.Unavailable, "in use by another"},
		{"TargetInUse", one, inUse, task.Unavailable, "in use by another"},
		{"ServersOnSource", served, fresh, task.Unavailable, "1 tasker processes use"},
		{"ServersOnTarget", one, served, task.Unavailable, "1 tasker processes use"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := copyAll(t.Context(), t, tc.from(t), tc.to(t), transfer.Options{})
			if task.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the copy ends with %s: %v; want %s: %s", task.CodeOf(err), err, tc.code, tc.want)
			}
		})
	}
}

func TestChangedRowIsOtherData(t *testing.T) {
	t.Parallel()
	from, to := filled(t, 1), pgtest.DSN(t)
	mustCopy(t, from, to)
	execute(t, to, `UPDATE tasker_tasks SET meta = '{}' WHERE id = (SELECT min(id::text)::uuid FROM tasker_tasks)`)
	_, err := copyAll(t.Context(), t, from, to, transfer.Options{})
	if task.CodeOf(err) != task.Conflict || !strings.Contains(err.Error(), "meta of tasker_tasks") {
		t.Errorf("the copy ends with %v", err)
	}
}

// TestDeletedRowsKeepTheirNumbers: a deleted row's number is not issued again.
func TestDeletedRowsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	from, there, back := filled(t, 1), pgtest.DSN(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	last := query(t, from, `SELECT seq FROM sqlite_sequence WHERE name = 'tasker_workers'`)
	execute(t, from, `DELETE FROM tasker_workers`)
	mustCopy(t, from, there)
	mustCopy(t, there, back)
	if got := query(t, there, `SELECT last_value FROM `+
		query(t, there, `SELECT pg_get_serial_sequence('tasker_workers', 'worker_no')`)); got != last {
		t.Errorf("PostgreSQL counts workers from %s, the source from %s", got, last)
	}
	if got := query(t, back, `SELECT seq FROM sqlite_sequence WHERE name = 'tasker_workers'`); got != last {
		t.Errorf("the copy of the copy counts workers from %s, the source from %s", got, last)
	}
}

func TestTextThatPostgresCannotKeep(t *testing.T) {
	t.Parallel()
	from := filled(t, 1)
	execute(t, from, `UPDATE tasker_task_events SET cause = 'a' || char(0) || 'b'`)
	_, err := copyAll(t.Context(), t, from, pgtest.DSN(t), transfer.Options{})
	if task.CodeOf(err) != task.Conflict || !strings.Contains(err.Error(), "cause of (1): the text holds a NUL") {
		t.Errorf("the copy ends with %v", err)
	}
}

// TestCopyThroughPgBouncer: nothing may depend on the connection between transactions.
func TestCopyThroughPgBouncer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	bouncer := pgtest.PgBouncer(t, server.DSN())
	from, there, back := filled(t, 1), pgtest.Schema(t, bouncer), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	mustCopy(t, from, there)
	mustCopy(t, from, there)
	mustCopy(t, there, back)
	mustCopy(t, from, back)
}

// TestCopyNoticesWhoWritesMeanwhile writes a row into the checked target.
func TestCopyNoticesWhoWritesMeanwhile(t *testing.T) {
	t.Parallel()
	from, to := filled(t, 1), pgtest.DSN(t)
	r, err := copyAll(t.Context(), t, from, to, transfer.Options{Progress: func(table string, _ int64) {
		if table == "tasker_tasks" {
			execute(t, to, `INSERT INTO tasker_meta (key, value) VALUES ('a', 'b')`)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range r.Tables {
		if want := table.Name != "tasker_meta"; table.Same != want {
			t.Errorf("%s: same is %v: %+v", table.Name, table.Same, table)
		}
	}
	if r.Same {
		t.Error("the report says that all is the same")
	}
}

package postgres_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// An index with a page for one entry in 300 is rebuilt, a full one is not. Remains of interrupted rebuilds are dropped.
// The test has its own server: a snapshot of another test would hold vacuum back.
func TestRebuildIndexes(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=off", "autovacuum=off")
	s := open(t, server.DSN())
	do := func(sql string) {
		t.Helper()
		if err := server.Execute(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	number := func(sql string) int {
		t.Helper()
		answer, err := server.Ask(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		n, err := strconv.Atoi(answer)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	rebuilt := func() string {
		t.Helper()
		var names []string
		for {
			name, err := s.RebuildIndex(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if name == "" {
				slices.Sort(names)
				return strings.Join(names, " ")
			}
			names = append(names, name)
		}
	}
	if got := rebuilt(); got != "" {
		t.Fatalf("in a new database %s was rebuilt", got)
	}
	do(`INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause)
 SELECT lpad(to_hex(n), 32, '0')::uuid, 0, 'a', 'b', '' FROM generate_series(1, 300000) AS n`)
	do(`VACUUM ANALYZE tasker_task_events`)
	if got := rebuilt(); got != "" {
		t.Fatalf("%s was rebuilt, although full", got)
	}
	do(`DELETE FROM tasker_task_events WHERE id % 300 <> 0`)
	do(`VACUUM tasker_task_events`)
	const size = `SELECT pg_relation_size('tasker_task_events_by_task')`
	before := number(size)
	do(`CREATE INDEX tasker_task_events_pkey_ccnew ON tasker_task_events (id)`)
	do(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'tasker_task_events_pkey_ccnew'::regclass`)
	if got, want := rebuilt(), "tasker_task_events_by_task tasker_task_events_pkey"; got != want {
		t.Errorf("%s were rebuilt, want %s", got, want)
	}
	if after := number(size); after > before/10 {
		t.Errorf("the index has %d bytes, and had %d", after, before)
	}
	if n := number(`SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%ccnew%'`); n != 0 {
		t.Errorf("%d broken indexes are left", n)
	}
}

package migration_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// TestUnrecorded: a database with our tables and without our record of their version is refused, no matter who asks,
// with a sentence that says what to do, and stays as it is.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	const tasks = `CREATE TABLE tasker_tasks (id int);`
	tests := map[string]string{
		// builds from before 0.1.0 had their migrations recorded by another program
		"BeforeFirstRelease": tasks + `CREATE TABLE tasker_migrations (id int, version_id int, is_applied boolean, tstamp int);
INSERT INTO tasker_migrations VALUES (1, 1, true, 0), (2, 46, true, 0), (3, 49, true, 0);
CREATE TABLE tasker_migration_checksums (version int, file text, sha256 text, applied_at int)`,
		"FirstVersionOfBefore": tasks + `CREATE TABLE tasker_migrations (id int, version_id int);
INSERT INTO tasker_migrations VALUES (1, 1)`,
		"NoRecord": tasks,
		"EmptyRecord": tasks + `CREATE TABLE tasker_migrations (version bigint PRIMARY KEY, file text, sha256 text,
  applied_at bigint)`,
	}
	for name, made := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, p place) {
				p.do(t, made)
				before := tables(t, p)
				m := p.migrator(t, shipped(t, p.shipped))
				_, statusErr := m.Status(t.Context())
				_, upErr := m.Up(t.Context())
				_, nodeErr := openNode(t, p)
				for what, err := range map[string]error{"Status": statusErr, "Up": upErr, "a node": nodeErr,
					"Ensure": m.Ensure(t.Context(), migration.Auto), "Ensure(Never)": m.Ensure(t.Context(), migration.Never)} {
					if err == nil || !strings.Contains(err.Error(), "a build from before version 0.1.0") {
						t.Errorf("%s did not refuse: %v", what, err)
					}
				}
				var e *task.Error
				if !errors.As(upErr, &e) || e.Code != task.Conflict || !strings.Contains(e.Hint, "Start with a new database") {
					t.Errorf("the error is %v with the hint %q", upErr, e.Hint)
				}
				same(t, "tables", tables(t, p), before)
			})
		})
	}
}

// tables lists the tables of a place, apart from those of versions.
func tables(t *testing.T, p place) []string {
	t.Helper()
	have, err := p.catalog(t.Context(), p.open(t))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(have))
}

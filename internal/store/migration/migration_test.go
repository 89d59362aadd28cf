package migration_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func up(t *testing.T, m *migration.Migrator) []string {
	t.Helper()
	files, err := m.Up(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

func states(t *testing.T, m *migration.Migrator) map[string]migration.State {
	t.Helper()
	all, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]migration.State{}
	for _, s := range all {
		out[s.Name] = s.State
		if known := s.State == migration.Applied; known && s.AppliedAt.IsZero() {
			t.Errorf("%s is %s at no time", s.Name, s.State)
		}
	}
	return out
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

func TestUp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		m := p.migrator(t, list(t, first))
		same(t, "states of an empty database", states(t, m), map[string]migration.State{"0001_schema.sql": migration.Pending})
		same(t, "what was applied", up(t, m), []string{"0001_schema.sql"})
		same(t, "what was applied again", up(t, m), nil)
		p.do(t, `INSERT INTO fruit VALUES ('apple')`)

		later := p.migrator(t, list(t, first, second, third))
		same(t, "states before", states(t, later), map[string]migration.State{
			"0001_schema.sql": migration.Applied, "0002_second.sql": migration.Pending, "0003_third.sql": migration.Pending})
		same(t, "what a later binary applied", up(t, later), []string{"0002_second.sql", "0003_third.sql"})
		same(t, "states after", states(t, later), map[string]migration.State{
			"0001_schema.sql": migration.Applied, "0002_second.sql": migration.Applied, "0003_third.sql": migration.Applied})
		var colour string
		if err := p.open(t).QueryRowContext(t.Context(),
			`SELECT colour FROM fruit WHERE name = 'apple'`).Scan(&colour); err != nil || colour != "green" {
			t.Errorf("the row has colour %q after the migration: %v", colour, err)
		}
	})
}

// TestStatusChangesNothing looks at an empty database: no table appears.
func TestStatusChangesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		m := p.migrator(t, list(t, first))
		states(t, m)
		if _, err := p.open(t).ExecContext(t.Context(), `CREATE TABLE tasker_migrations (taken int)`); err != nil {
			t.Errorf("there is a table already: %v", err)
		}
	})
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		m := p.migrator(t, list(t, first, second))
		err := m.Ensure(t.Context(), migration.Never)
		if task.CodeOf(err) != task.Invalid || !strings.Contains(err.Error(), "pending are 0001_schema.sql, 0002") {
			t.Errorf("Never, pending: %v", err)
		}
		for _, mode := range []migration.Mode{"", migration.Auto, migration.Never} {
			if err := m.Ensure(t.Context(), mode); err != nil {
				t.Errorf("%q: %v", mode, err)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mine   []migration.File
		damage string
		want   string
	}{
		{"NewerDatabase", list(t, first), "", "it has 0002_second.sql, and this binary does not"},
		{"ChangedFile", list(t, first+"-- a typing error less\n", second), "", "migrated with another 0001_schema.sql"},
		{"Gap", list(t, first, second), "DELETE FROM tasker_migrations WHERE version = 1", "lacks 0001_schema.sql"},
		{"OtherHistory", list(t, first, third), "", "migrated with another 0002_second.sql"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, p place) {
				up(t, p.migrator(t, list(t, first, second)))
				if tt.damage != "" {
					p.do(t, tt.damage)
				}
				m := p.migrator(t, tt.mine)
				_, upErr := m.Up(t.Context())
				for _, err := range []error{m.Ensure(t.Context(), migration.Auto), m.Ensure(t.Context(), migration.Never), upErr} {
					if task.CodeOf(err) != task.Conflict || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("not refused as %q: %v", tt.want, err)
					}
				}
			})
		})
	}
}

// TestBrokenMigration: what cannot be applied leaves nothing behind, what was
// applied before it stays, and the repaired file can be applied.
func TestBrokenMigration(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		files, err := p.migrator(t, list(t, first, broken)).Up(t.Context())
		if err == nil || !strings.Contains(err.Error(), "apply 0002_second.sql, which was rolled back: ") {
			t.Errorf("Up returned %v", err)
		}
		if len(files) != 1 || files[0].Name != "0001_schema.sql" {
			t.Errorf("applied are %v", files)
		}
		if _, err := p.open(t).ExecContext(t.Context(), `SELECT * FROM half`); err == nil {
			t.Error("half of the migration is there")
		}
		same(t, "what the repaired list applied", up(t, p.migrator(t, list(t, first, second))), []string{"0002_second.sql"})
	})
}

// TestSchemaIsCreated migrates a schema that is not there, through connections
// whose search_path names another.
func TestSchemaIsCreated(t *testing.T) {
	t.Parallel()
	p := onPostgres(t)
	db := p.open(t)
	name := "new_" + strings.ToLower(rand.Text()[:12])
	t.Cleanup(func() {
		if _, err := p.open(t).ExecContext(context.Background(), `DROP SCHEMA `+name+` CASCADE`); err != nil {
			t.Error(err)
		}
	})
	m := migration.New(db, list(t, first, second), migration.Postgres(name))
	same(t, "what was applied", up(t, m), []string{"0001_schema.sql", "0002_second.sql"})
	if err := m.Ensure(t.Context(), migration.Never); err != nil {
		t.Error(err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO `+name+`.fruit VALUES ('apple', 'red')`); err != nil {
		t.Errorf("the table is not in the schema: %v", err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()`).Scan(
		&n); err != nil || n != 0 {
		t.Errorf("%d tables are in the schema of the search_path: %v", n, err)
	}
}

// TestManyAtOnce starts many processes on an empty database: one migrates, and all
// find it migrated.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		manyAtOnce(t, onPostgres(t))
	})
	t.Run("PgBouncer", func(t *testing.T) {
		t.Parallel()
		server := pgtest.Start(t)
		manyAtOnce(t, postgresAt(t, pgtest.Schema(t, pgtest.PgBouncer(t, server.DSN()))))
	})
}

func manyAtOnce(t *testing.T, p place) {
	const nodes = 6
	var (
		wait    sync.WaitGroup
		mu      sync.Mutex
		applied []string
	)
	begin := make(chan struct{})
	for range nodes {
		m := p.migrator(t, list(t, first, second, third))
		wait.Go(func() {
			<-begin
			files, err := m.Up(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, f := range files {
				applied = append(applied, f.Name)
			}
		})
	}
	close(begin)
	wait.Wait()
	same(t, "what all of them applied", applied, []string{"0001_schema.sql", "0002_second.sql", "0003_third.sql"})
	if err := p.migrator(t, list(t, first, second, third)).Ensure(t.Context(), migration.Never); err != nil {
		t.Error(err)
	}
}

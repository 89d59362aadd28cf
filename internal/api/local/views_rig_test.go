package local_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// populationSeed and populationMoves make a population that shows all values of the views.
const (
	populationSeed  = 11
	populationMoves = 400
)

func askPostgres(t *testing.T, cfg settings.Config) *asked {
	t.Helper()
	p := newPSQL(t, cfg)
	populate(t, p.rig, populationSeed, populationMoves)
	p.strand()
	return &asked{t: t, rig: p.rig,
		timeText: func(column string) string {
			return `to_char(` + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
		},
		ask: func(query string) answer {
			t.Helper()
			p.tick()
			rows, err := p.conn.Query(t.Context(), strings.ReplaceAll(query, "@", p.schema)) //nolint:sqlclosecheck // who asked reads it to its end
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			return rows
		}}
}

func askSQLite(t *testing.T, cfg settings.Config) *asked {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasker.db")
	first := newRig(t, reopenSQLite(t, path), cfg)
	shell := openShell(t, path)
	shell.exec(insertCyclic, cyclic)
	populate(t, first, populationSeed, populationMoves)
	if err := first.b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range strand {
		shell.exec(statement)
	}
	r := newRig(t, reopenSQLite(t, path), cfg)
	r.silent(first.clock().Sub(noon))
	copied := filepath.Join(t.TempDir(), "copy.db")
	shell.exec(`VACUUM INTO ` + `'` + copied + `'`)
	reader := openShell(t, copied)
	return &asked{t: t, rig: r,
		timeText: func(column string) string { return column },
		ask: func(query string) answer {
			t.Helper()
			reader.exec(`DROP VIEW @.tasker_now`)
			reader.exec(fmt.Sprintf(`CREATE VIEW tasker_now AS SELECT %d AS now`, r.clock().UnixMicro()))
			rows, err := reader.db.QueryContext(t.Context(), strings.ReplaceAll(query, "@.", "")) //nolint:rowserrcheck // who asked reads it to its end
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			return rows
		}}
}

func reopenSQLite(t *testing.T, path string) engine.Database {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Seed: 1, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type shell struct {
	t  *testing.T
	db *sql.DB
}

func openShell(t *testing.T, path string) *shell {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shell{t, db}
}

func (s *shell) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), strings.ReplaceAll(statement, "@.", ""), args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

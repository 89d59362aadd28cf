package local_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// TestSettings: a migrated database has the defaults, and the process started last overrides them.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "tasker.db") },
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			s, err := node.OpenSchema(dsn, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			migrated := settingsOf(t, name, dsn)
			if len(migrated) < 10 {
				t.Errorf("the migrations make the settings %v", migrated)
			}
			start(t, dsn, settings.Config{})
			same(t, "the settings of a new database", migrated, settingsOf(t, name, dsn))

			changed := settings.Config{StalenessThresholds: task.Thresholds{WaitingForRetry: time.Minute, StepsInProcess: -1}}
			changed.Cases.Enabled = settings.Off
			changed.Cases.PriorityBases.ManualDLQ = 7
			changed.Priorities = []settings.PriorityLevel{
				{Name: "only", Level: 50, Timeout: time.Minute, MaxRetryDelay: time.Second}}
			start(t, dsn, changed)
			got := settingsOf(t, name, dsn)
			for key, want := range map[string]int64{"staleness.waiting_for_retry": 60_000_000, "staleness.steps_in_process": 0,
				"cases.enabled":            0,
				"priority_base.manual_dlq": 7, "priority_level.only": 50, "staleness.waiting_for_dependencies": 3_600_000_000} {
				if value, ok := got[key]; !ok || value != want {
					t.Errorf("%s is %d (%v), want %d", key, value, ok, want)
				}
			}
			if _, ok := got["priority_level.low"]; ok {
				t.Error("a level that there is no more is still there")
			}
			start(t, dsn, settings.Config{})
			same(t, "the settings after a start with the defaults", settingsOf(t, name, dsn), migrated)
		})
	}
}

func start(t *testing.T, dsn string, cfg settings.Config) {
	t.Helper()
	b, err := node.Open(t.Context(), dsn, node.Options{Engine: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func settingsOf(t *testing.T, kind, dsn string) map[string]int64 {
	t.Helper()
	var db *sql.DB
	if kind == "SQLite" {
		db = openShell(t, dsn).db
	} else {
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db = stdlib.OpenDB(*d.Pool.ConnConfig)
		defer db.Close()
	}
	rows, err := db.QueryContext(t.Context(), `SELECT key, value FROM tasker_settings`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var key string
		var value int64
		if err := rows.Scan(&key, &value); err != nil {
			t.Fatal(err)
		}
		out[key] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

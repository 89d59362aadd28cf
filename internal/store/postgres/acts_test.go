package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// TestActsAreKept changes acts directly, which the database refuses for any user.
func TestActsAreKept(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return s.ActStore().AddActs(ctx, tx,
			[]task.Act{{At: 1, Kind: "use_key", Actor: "ada", Auth: task.AuthKey, Key: "ops"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.ConnectConfig(t.Context(), parsed.Pool.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	for name, query := range map[string]string{
		"Update":   `UPDATE tasker_acts SET actor = 'eve'`,
		"Delete":   `DELETE FROM tasker_acts`,
		"Truncate": `TRUNCATE tasker_acts`,
		"Upsert": `INSERT INTO tasker_acts (id, at, kind, actor, reason, from_state, to_state) OVERRIDING SYSTEM VALUE
 VALUES (1, 1, 'use_key', 'eve', '', '', '') ON CONFLICT (id) DO UPDATE SET actor = excluded.actor`,
		"Replica": `SET session_replication_role = replica; DELETE FROM tasker_acts`,
	} {
		if _, err := db.Exec(t.Context(), query); err == nil || !strings.Contains(err.Error(), "only ever added to") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	var actor string
	if err := db.QueryRow(t.Context(), `SELECT actor FROM tasker_acts`).Scan(&actor); err != nil || actor != "ada" {
		t.Errorf("the act is of %q (%v), want of ada", actor, err)
	}
}

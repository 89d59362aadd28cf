package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TestActsAreKept changes acts directly, which the file refuses for any program.
func TestActsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return s.ActStore().AddActs(ctx, tx,
			[]task.Act{{At: 1, Kind: "use_key", Actor: "ada", Auth: task.AuthKey, Key: "ops"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "tasker.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, query := range map[string]string{
		"Update": `UPDATE tasker_acts SET actor = 'eve'`,
		"Delete": `DELETE FROM tasker_acts`,
		"Replace": `INSERT OR REPLACE INTO tasker_acts (id, at, kind, actor, reason, from_state, to_state)
 VALUES (1, 1, 'use_key', 'eve', '', '', '')`,
		"Upsert": `INSERT INTO tasker_acts (id, at, kind, actor, reason, from_state, to_state)
 VALUES (1, 1, 'use_key', 'eve', '', '', '') ON CONFLICT DO UPDATE SET actor = excluded.actor`,
	} {
		if _, err := db.ExecContext(t.Context(), query); err == nil || !strings.Contains(err.Error(), "only ever added to") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	var actor string
	if err := db.QueryRowContext(t.Context(), `SELECT actor FROM tasker_acts`).Scan(&actor); err != nil || actor != "ada" {
		t.Errorf("the act is of %q (%v), want of ada", actor, err)
	}
}

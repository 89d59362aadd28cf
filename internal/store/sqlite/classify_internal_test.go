package sqlite

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SQLite reports a full disk like a file that must not grow.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/full.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE a (b TEXT); PRAGMA max_page_count = 2`); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO a VALUES (hex(zeroblob(10000)))`)
	if err := classify(err); !errors.Is(err, engine.ErrFull) || task.CodeOf(err) != task.Unavailable {
		t.Errorf("a full disk is %v", err)
	}
}

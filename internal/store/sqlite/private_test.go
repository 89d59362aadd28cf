//go:build unix

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// Other users of the machine cannot read a new file.
func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return s.NoteStore().Note(ctx, tx, "key", "text")
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tasker.db", "tasker.db-wal", "tasker.db-shm", "tasker.db.lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

func TestPrivateOfMigrator(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasker.db")
	m, done, err := sqlite.Migrator(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the file has mode %o", mode)
	}
}

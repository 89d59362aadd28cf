package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

func open(t *testing.T, dir string) engine.Database {
	t.Helper()
	path := filepath.Join(dir, "tasker.db")
	sqlitetest.Make(t, path)
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) engine.Database {
		s := open(t, t.TempDir())
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	})
}

func TestInbox(t *testing.T) {
	t.Parallel()
	storetest.RunInbox(t, func(t *testing.T) storetest.InboxStore { return openStore(t) })
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	storetest.RunSchedules(t, func(t *testing.T) storetest.ScheduleStore { return openStore(t) })
}

func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s := open(t, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*sqlite.Store)
}

func TestDurability(t *testing.T) {
	t.Parallel()
	storetest.RunDurable(t, open)
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if second, err := sqlite.Open(t.Context(), filepath.Join(dir, "tasker.db"), nil); err == nil {
		second.Close()
		t.Error("opened twice: no error")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

// A file is created with its directories, unless the schema must not be created either.
func TestDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "var", "lib", "tasker.db")
	_, err := sqlite.Open(t.Context(), path, &sqlite.Options{Migrate: migration.Never})
	if task.CodeOf(err) != task.Invalid || !strings.Contains(err.Error(), "there is no directory "+filepath.Dir(path)) {
		t.Errorf("without its directory the file opens with %v", err)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(path))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made though nothing may be: %v", err)
	}
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirectoryOfMigrator(t *testing.T) {
	t.Parallel()
	m, done, err := sqlite.Migrator(filepath.Join(t.TempDir(), "var", "tasker.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Up(t.Context())
	if closed := done(); err != nil || closed != nil {
		t.Errorf("up: %v; close: %v", err, closed)
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(file, "tasker.db"), nil); err == nil ||
		!strings.Contains(err.Error(), "mkdir "+file) {
		t.Errorf("below a file a file opens with %v", err)
	}
}

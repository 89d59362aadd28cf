package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/store/storetest"
)

func open(t *testing.T, dir string) engine.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "tasker.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) engine.Store {
		s := open(t, t.TempDir())
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	})
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

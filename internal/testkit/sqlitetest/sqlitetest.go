// Package sqlitetest gives tests SQLite files that have the schema already.
//
// To make it takes longer than many tests. It is made once in a test process; every test has a copy of the file.
// Package migration tests how it is made.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// File returns the path of a new file, in a directory that is removed when t ends.
func File(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasker.db")
	Make(t, path)
	return path
}

// Make writes a new file to path, unless there is a file already.
func Make(t testing.TB, path string) {
	t.Helper()
	file, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return
	}
	if err == nil {
		_, err = f.Write(file)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "tasker-sqlitetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "tasker.db")
	m, done, err := sqlite.Migrator(path, true)
	if err != nil {
		return nil, err
	}
	if _, err := m.Up(context.Background()); err != nil {
		return nil, errors.Join(err, done())
	}
	if err := done(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

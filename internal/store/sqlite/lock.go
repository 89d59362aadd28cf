package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/model/task"
)

// takeFile locks a database file against other processes. With create it makes the directory, the lock and an empty
// file; otherwise a missing directory or file is Invalid. The lock is a separate file, because SQLite uses locks on the
// database itself. A file in use is Unavailable.
func takeFile(path string, create bool) (*fileLock, error) {
	if create {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
	} else if err := mustExist(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil || !create {
		return lock, err
	}
	if err := makePrivate(path); err != nil {
		lock.release()
		return nil, err
	}
	return lock, nil
}

func mustExist(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // SQLite reports anything else
	}
	missing := "file " + path
	if dir := filepath.Dir(path); !exists(dir) {
		missing = "directory " + dir
	}
	return &task.Error{Code: task.Invalid, Message: "there is no " + missing,
		Hint: "check the DSN; tasker migrate up makes file and directory", Err: err}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// private is the mode of a new file: other users of this machine must not read the payloads of tasks.
const private = 0o600

// makePrivate creates a missing file, before SQLite would with the mode of the umask; its log and index get the mode of
// the file. An existing file keeps its mode.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, private)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it exists and is read-only: SQLite reports the consequence
	}
	if err != nil {
		return err
	}
	return f.Close()
}

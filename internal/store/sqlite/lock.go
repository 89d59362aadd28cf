package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/task"
)

// takeFile locks a database file, which need not exist, against other processes. With create it
// makes the directory, the lock and an empty file. The lock is on a file of its own, because
// SQLite uses locks on the database itself. A file in use is Unavailable, a missing directory
// Invalid.
func takeFile(path string, create bool) (*fileLock, error) {
	dir := filepath.Dir(path)
	if create {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, &task.Error{Code: task.Invalid, Message: "there is no directory " + dir,
			Hint: "check the DSN; tasker migrate up makes file and directory", Err: err}
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

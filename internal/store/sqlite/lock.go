package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/task"
)

// takeFile keeps other processes off a file that there need not be yet. With
// create it makes the directory that the file and its lock are in.
func takeFile(path string, create bool) (*fileLock, error) {
	dir := filepath.Dir(path)
	if create {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, &task.Error{Code: task.Invalid, Message: "there is no directory " + dir, Hint: "check the DSN; tasker migrate up makes file and directory", Err: err}
	}
	return lockFile(path + ".lock")
}

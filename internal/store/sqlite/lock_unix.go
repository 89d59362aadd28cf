//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"

	"github.com/taskerhq/tasker/internal/model/task"
)

// fileLock keeps a second process out. The kernel releases it when the process ends.
type fileLock struct{ f *os.File }

// lockFile takes the lock without waiting. Unavailable: another process holds it. The lock belongs to the open file,
// not to the process, so a second Store in the same process is refused too.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, private)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &task.Error{Code: task.Unavailable, Message: "the database is in use by another tasker process",
				Hint: "stop the other process, or talk to it with --server", Err: err}
		}
		return nil, err
	}
	return &fileLock{f}, nil
}

// release keeps the lock file: deleting it would let a third process lock a new file of the same name.
func (l *fileLock) release() {
	if l != nil {
		l.f.Close()
	}
}

//go:build unix

package script

import (
	"os"
	"path/filepath"
	"syscall"
)

// own locks a new directory while the returned file is open. The lock file gets its name after it is locked, so
// that Sweep finds no lock about to be taken. A directory that cannot be locked (nil) has no lock file and is never
// swept.
func own(dir string) *os.File {
	path := filepath.Join(dir, ownerFile)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || os.Rename(path+".new", path) != nil {
		f.Close()
		return nil
	}
	return f
}

// takeOver locks a directory whose owner is gone; nil for others. It never blocks on a file of another kind.
func takeOver(dir string) *os.File {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

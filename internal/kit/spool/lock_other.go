//go:build !unix

package spool

import (
	"os"
	"path/filepath"
)

// lock opens the file of the lock. Without flock nothing keeps a second process out of the directory here.
func lock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, private)
}

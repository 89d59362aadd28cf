//go:build !unix

package spool

import (
	"os"
	"path/filepath"
)

// lock does not exclude a second process, without flock.
func lock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, private)
}

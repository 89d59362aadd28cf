//go:build unix

package sqlite

import (
	"errors"
	"os"
)

// syncFile waits until a file, or the names in a directory, are on the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

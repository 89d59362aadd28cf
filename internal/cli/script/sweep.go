package script

import (
	"os"
	"path/filepath"
	"strings"
)

const (
	dirPrefix = "tasker-step-"
	// ownerFile is locked by the worker of its directory. The kernel releases the lock when the worker ends for any
	// reason. Process numbers would clash between containers that share the directory.
	ownerFile = ".owner"
)

// Sweep removes directories of killed workers, whose lock nobody holds, as far as it can.
func Sweep() {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(os.TempDir(), e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), dirPrefix) {
			continue
		}
		if lock := takeOver(dir); lock != nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}

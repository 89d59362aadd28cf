package script

import (
	"os"
	"path/filepath"
	"strings"
)

const (
	// dirPrefix begins the names of the directories of steps.
	dirPrefix = "tasker-step-"
	// ownerFile is the file in such a directory that its worker has locked. The kernel releases the lock when the worker
	// ends, for any reason. A number of a process would not do: workers in several containers may share the directory.
	ownerFile = ".owner"
)

// Sweep removes the directories that killed workers have left behind, those with a lock that nobody holds. It leaves
// alone what it cannot remove.
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

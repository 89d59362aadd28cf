//go:build !unix

package sqlite

// fileLock does nothing here: without flock, only SQLite's own locks separate two processes on one file, and the
// processes wait for each other.
type fileLock struct{}

func lockFile(string) (*fileLock, error) { return &fileLock{}, nil }

func (l *fileLock) release() {}

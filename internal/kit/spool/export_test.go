package spool

import "os"

// OpenUnsynced is Open without syncs, for tests with thousands of states.
func OpenUnsynced(dir string, o Options) (*Spool, Recovery, error) {
	return open(dir, o, func(*os.File) error { return nil })
}

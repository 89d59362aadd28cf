//go:build !unix

package sqlite

// Windows syncs no file that is open for reading only, and no directory.
func syncFile(string) error { return nil }

//go:build !linux

package postgres

import "syscall"

// Only Linux has the option. The dialer's probes work without it.
func limitUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }

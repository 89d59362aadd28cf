package postgres

import "syscall"

// TCP_USER_TIMEOUT, which package syscall lacks
const tcpUserTimeout = 0x12

// limitUnacknowledged sets userTimeout. A Unix socket, which lacks it, works without.
func limitUnacknowledged(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
	})
}

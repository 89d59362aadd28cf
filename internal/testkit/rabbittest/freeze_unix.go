//go:build unix

package rabbittest

import "syscall"

// Freeze stops the server until Thaw. Its connections stay open.
func (s *Server) Freeze() error { return syscall.Kill(s.server.Process(), syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() error { return syscall.Kill(s.server.Process(), syscall.SIGCONT) }

//go:build unix && !linux

package script

import "syscall"

// endWithUs does nothing: only Linux ends a process with its parent.
func endWithUs(*syscall.SysProcAttr) {}

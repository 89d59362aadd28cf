//go:build unix

package vitals

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time that the process has used, without its children.
func cpuTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

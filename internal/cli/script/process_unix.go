//go:build unix

package script

import (
	"os/exec"
	"syscall"
)

// Shell returns the argv that runs a command line as a user would type it.
func Shell(command string) []string { return []string{"/bin/sh", "-c", command} }

// inOwnGroup makes the program the leader of a process group, so that what it
// starts can be ended together with it.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what is left of the group. Nothing left is no error.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

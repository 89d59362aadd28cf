//go:build unix

package script

import (
	"os/exec"
	"syscall"
)

// Shell returns the argv that runs a command line as a user would type it.
func Shell(command string) []string { return []string{"/bin/sh", "-c", command} }

// inOwnGroup makes the program a group leader, to be ended with its children.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// An empty group is no error.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

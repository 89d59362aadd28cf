//go:build unix

package process

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Group is a process group that ends with this process, even if that is killed: its leader is a shell that waits for
// the end of a pipe of ours, and then kills the group. A group also shields its members from a terminal's interrupt.
type Group struct {
	leader *exec.Cmd
	alive  io.Closer // our end of the leader's pipe
}

// NewGroup starts the leader of a group.
func NewGroup() (*Group, error) {
	leader := exec.Command("/bin/sh", "-c", "trap '' HUP INT TERM; cat > /dev/null; kill -9 -$$")
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := leader.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe of a process group: %w", err)
	}
	if err := leader.Start(); err != nil {
		return nil, fmt.Errorf("start a process group: %w", err)
	}
	return &Group{leader, alive}, nil
}

// Close kills the rest of the group and returns when the leader is gone.
func (g *Group) Close() {
	g.alive.Close()
	_ = g.leader.Wait() // it kills itself, too
}

// Command is a program that will run in the group.
func (g *Group) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.leader.Process.Pid}
	return cmd
}

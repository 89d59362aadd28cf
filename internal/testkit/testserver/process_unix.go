//go:build unix

package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is a server's user: ours, or another one if we are root, since some servers refuse root.
type account struct {
	credential *syscall.Credential // nil: we
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, fmt.Errorf("a user postgres, to run servers as because root may not, is %w", ErrMissing)
}

// own gives a file or directory to the account.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Chown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	return nil
}

func (a account) apply(cmd *exec.Cmd) { cmd.SysProcAttr.Credential = a.credential }

// apart runs the program in a separate process group, without our terminal's signals.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// exited reports whether an unawaited process has ended, and reaps it.
func exited(p *os.Process) bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.Pid, &status, syscall.WNOHANG, nil)
	return err != nil && err != syscall.EINTR || pid == p.Pid
}

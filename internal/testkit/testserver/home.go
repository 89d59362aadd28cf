package testserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Home is the directory of a server, and its account. It is removed on Close, and also when this process is gone: a
// shell waits there for the end of a pipe of ours.
type Home struct {
	Dir     string
	account account
	guard   *exec.Cmd
	alive   io.Closer // our end of the guard's pipe
}

// pidFile is in the home of a running server.
const pidFile = "pid"

// NewHome makes a directory for a server, with name in its name. A shell runs lastAct there to end the server if this
// process is gone; the file pid has the process ID.
func NewHome(name, lastAct string) (*Home, error) {
	acc, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tasker-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for %s: %w", name, err)
	}
	h := &Home{Dir: dir, account: acc}
	if err := acc.own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// The guard ignores a terminal's interrupt: we stop the server first.
	h.guard = exec.Command("/bin/sh", "-c", "trap '' HUP INT TERM; cat > /dev/null; if [ -s "+pidFile+" ]; then "+lastAct+
		"; fi; rm -rf \"$0\"", dir)
	h.guard.Dir = dir
	apart(h.guard)
	if h.alive, err = h.guard.StdinPipe(); err == nil {
		err = h.guard.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guard %s: %w", dir, err), os.RemoveAll(dir))
	}
	return h, nil
}

// Command is a program that runs in the directory, under the account, in a separate process group, without our PG...
// variables.
func (h *Home) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = h.Dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG")
	}), "LC_ALL=C")
	apart(cmd)
	h.account.apply(cmd)
	return cmd
}

// Write makes a file that only the account can read, and returns its path.
func (h *Home) Write(name, content string) (string, error) {
	path := filepath.Join(h.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, h.account.own(path)
}

// Close removes the directory. The server has ended.
func (h *Home) Close() error {
	h.alive.Close()
	if err := h.guard.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w", h.Dir, err)
	}
	return nil
}

//go:build !unix

package testserver

import (
	"fmt"
	"os"
	"os/exec"
)

// account is a server's user. Without Unix there is none: tests use the servers of TASKER_TEST_... variables.
type account struct{}

func serverAccount() (account, error) {
	return account{}, fmt.Errorf("Unix, on which tests can start servers of their own, is %w", ErrMissing)
}

func (account) own(string) error { return nil }

func (account) apply(*exec.Cmd) {}

func apart(*exec.Cmd) {}

func exited(*os.Process) bool { return false }

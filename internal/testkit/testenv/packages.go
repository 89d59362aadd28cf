package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
)

// policy tells Debian's packages whether to start their servers. We start our own, only for tests.
const policy = "/usr/sbin/policy-rc.d"

// install installs packages of the distribution, with sudo unless root (it must not prompt for a password).
func install(root bool, apt string, packages []string, log io.Writer) (err error) {
	if root {
		if _, err := os.Stat(policy); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
				return fmt.Errorf("keep packages from starting servers: %w", err)
			}
			defer func() { err = errors.Join(err, os.Remove(policy)) }()
		}
	}
	call := func(args ...string) error {
		if !root {
			args = append([]string{"sudo", "-n", "DEBIAN_FRONTEND=noninteractive"}, args...)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install %v: %w", packages, err)
		}
		return nil
	}
	if err := call(apt, "update", "-q"); err != nil {
		return err
	}
	known := slices.DeleteFunc(slices.Clone(packages), func(name string) bool {
		if exec.Command("apt-cache", "show", name).Run() == nil {
			return false
		}
		// Ubuntu has no chromium; apt-get would then install none of the others.
		fmt.Fprintf(log, "testenv: there is no package %s here\n", name)
		return true
	})
	if len(known) == 0 {
		return nil
	}
	return call(append([]string{apt, "install", "-y", "-q", "--no-install-recommends"}, known...)...)
}

package s3test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// The server: an S3 gateway for a directory, in Go.
const (
	module = "github.com/versity/versitygw/cmd/versitygw"
	// Version is the gateway's version.
	Version = "v1.8.0"
)

// Program returns the path of the server.
func Program() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	dir, err := directory()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf(`versitygw %s is %w: "go run ./internal/testkit/testenv true" builds it, in %s`, Version,
			testserver.ErrMissing, dir)
	}
	return path, nil
}

// directory is where the program is. Root's cache is closed to the account of servers.
func directory() (string, error) {
	cache := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("find the cache: %w", err)
		}
	}
	return filepath.Join(cache, "tasker-test", "versitygw-"+Version), nil
}

// Fetch builds the server from the module proxy.
func Fetch(log io.Writer) error {
	dir, err := directory()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "install", module+"@"+Version)
	cmd.Dir = os.TempDir() // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build versitygw: %w", err)
	}
	return nil
}

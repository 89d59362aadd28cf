//go:build unix

package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// product is the module of the binary.
const product = "github.com/taskerhq/tasker"

// Module returns the directory of the product's sources: the working directory may belong to another module, such as
// proof.
func Module(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", product).Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", product, err)
	}
	return strings.TrimSpace(string(root)), nil
}

// Build makes the binary in dir and returns its path. It builds in the product's module, from any module; flags are
// those of go build, such as -race.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	root, err := Module(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tasker")
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", path}, flags,
		[]string{product + "/cmd/tasker"})...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

// Addresses finds n free addresses below the ports that the kernel gives to clients: while a server is down, a client's
// connection could take its port. They are scattered, so that concurrent processes find different ones.
func Addresses(n int) ([]string, error) {
	var free []string
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			continue // taken
		}
		if err := ln.Close(); err != nil {
			return nil, fmt.Errorf("let go of %s: %w", addr, err)
		}
		if slices.Contains(free, addr) {
			continue
		}
		if free = append(free, addr); len(free) == n {
			return free, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports: 1000 were tried", n)
}

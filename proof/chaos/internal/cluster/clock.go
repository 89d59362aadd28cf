package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Go reads the machine's clock without a replaceable library. So the nodes are built with one changed line of the
// standard library: the wall clock shows Step seconds more. A goroutine of this build reads Step from a file.
const (
	reading = "	sec, nsec, mono := runtimeNow()\n	if mono == 0 {"
	stepped = "	sec, nsec, mono := runtimeNow()\n	sec += Step\n	if mono == 0 {"
	stepVar = "\n// Step is how many seconds the wall clock is ahead.\nvar Step int64\n"

	follower = `package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	go func() {
		for ; ; time.Sleep(10 * time.Millisecond) {
			text, err := os.ReadFile(os.Getenv("` + clockFile + `"))
			if err != nil {
				continue
			}
			if step, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				time.Step = step
			}
		}
	}()
}
`
	clockFile = "CHAOS_CLOCK"
)

func overlay(ctx context.Context, dir, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find Go: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), reading) != 1 {
		return "", errors.New("this Go reads the clock in another way: see " + source)
	}
	files := map[string]string{
		"time.go":     strings.Replace(string(text), reading, stepped, 1) + stepVar,
		"follower.go": follower,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {
		source: filepath.Join(dir, "time.go"),
		filepath.Join(module, "cmd", "tasker", "follower.go"): filepath.Join(dir, "follower.go"),
	}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return "-overlay=" + path, os.WriteFile(path, list, 0o600)
}

// StepClock puts the node's wall clock ahead of the machine's, or behind it; 0 resets it.
func (n *Node) StepClock(by time.Duration) error {
	next := n.clock + ".next"
	if err := os.WriteFile(next, []byte(strconv.FormatInt(int64(by/time.Second), 10)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, n.clock)
}

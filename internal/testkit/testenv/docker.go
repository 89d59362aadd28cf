package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

const composeFile = "deploy/compose.test.yml"

// composeUp starts a service in a container, on a port that Docker chooses, and waits until it is healthy. stop removes
// the container; it may be set even with an error.
func composeUp(s service, log io.Writer) (variables []string, stop func() error, err error) {
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("no Docker daemon answers (docker info: %w%s)", err, lastLine(out))
	}
	// A Kafka broker advertises its address, so it needs the published port.
	port, err := testserver.FreePort()
	if err != nil {
		return nil, nil, err
	}
	// A separate project: concurrent runs do not collide.
	project, password := "tasker-test-"+strings.ToLower(rand.Text()[:8]), rand.Text()
	compose := func(args ...string) *exec.Cmd {
		cmd := exec.Command("docker", append([]string{"compose", "--file", composeFile, "--project-name", project},
			args...)...)
		cmd.Env = append(os.Environ(), "TASKER_TEST_PASSWORD="+password, fmt.Sprintf("TASKER_TEST_PORT=%d", port))
		cmd.Stderr = log
		return cmd
	}
	stop = func() error {
		if err := compose("down", "--volumes", "--timeout", "1").Run(); err != nil {
			return fmt.Errorf("docker compose down: %w", err)
		}
		return nil
	}
	if err := compose("up", "--detach", "--wait", s.name).Run(); err != nil {
		return nil, stop, fmt.Errorf("docker compose up: %w", err)
	}
	address, err := published(compose, s.name, s.port)
	if err != nil {
		return nil, stop, err
	}
	variables = []string{s.variable + "=" + s.dsn(address, password)}
	if s.second != nil {
		if address, err = published(compose, s.name, s.second.port); err != nil {
			return nil, stop, err
		}
		variables = append(variables, s.second.variable+"="+s.second.dsn(address))
	}
	return variables, stop, nil
}

// published returns the address that Docker chose for a port of a service.
func published(compose func(...string) *exec.Cmd, name string, port int) (string, error) {
	cmd := compose("port", name, fmt.Sprint(port))
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker compose port: %w", err)
	}
	address := strings.TrimSpace(string(out))
	if address == "" {
		return "", errors.New("docker compose port: no port is published")
	}
	return address, nil
}

func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}

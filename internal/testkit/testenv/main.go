// Command testenv runs a command with the servers that the tests need:
//
//	go run ./internal/testkit/testenv go test ./...
//
// It starts each once for all packages, puts its address into a variable of the environment, and stops it after the
// command. It starts no server whose variable is set.
//
// It uses installed programs; else, as root or with CI=true, it installs the distribution's; else it uses Docker
// Compose; else it prints what to install. Kafka, which no distribution has, comes from Maven, once for each user.
// Chromium it only finds or installs: tests start it.
//
// With -without NAMES before the command, it omits some of them:
//
//	go run ./internal/testkit/testenv -without rabbitmq,kafka,chromium .ci/fuzz-api
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], services, os.Stdout, os.Stderr))
}

func run(command []string, all []service, out, log io.Writer) int {
	if len(command) > 1 && command[0] == "-without" {
		all, command = without(all, strings.Split(command[1], ",")), command[2:]
	}
	if len(command) == 0 {
		fmt.Fprintln(log, "testenv: which command? For example: testenv go test ./...")
		return 2
	}
	// Ctrl-C also reaches the command, so outliving it suffices; a signal to us alone is meant for the command.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	began := time.Now()
	variables, stop, err := bringUp(all, log)
	if err != nil {
		fmt.Fprintf(log, "testenv: %v\n", errors.Join(err, stop()))
		return 1
	}
	fmt.Fprintf(log, "testenv: ready after %v\n", time.Since(began).Round(10*time.Millisecond))

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stdout, cmd.Stderr = out, log
	code, err := carryOut(cmd, signals)
	if err := errors.Join(err, stop()); err != nil {
		fmt.Fprintf(log, "testenv: %v\n", err)
		return max(code, 1)
	}
	return code
}

func without(all []service, names []string) []service {
	return slices.DeleteFunc(slices.Clone(all), func(s service) bool { return slices.Contains(names, s.name) })
}

// carryOut runs the command to its end, despite signals.
func carryOut(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	if len(signals) > 0 {
		return 1, errors.New("interrupted")
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt {
				_ = cmd.Process.Signal(s) // it may have ended just now
			}
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return max(exit.ExitCode(), 1), nil // -1 is a signal
			}
			return 0, err
		}
	}
}

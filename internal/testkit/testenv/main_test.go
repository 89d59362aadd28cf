package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call returns the exit code, the command's output and testenv's.
func call(all []service, command ...string) (int, string, string) {
	var out, log bytes.Buffer
	code := run(command, all, &out, &log)
	return code, out.String(), log.String()
}

func fake(stopped *int) service {
	return service{
		name: "fake", variable: "TESTENV_FAKE", installed: func() error { return nil },
		start: func() (string, func() error, error) {
			return "fake://here", func() error { *stopped++; return nil }, nil
		},
	}
}

const show = `echo "$TESTENV_FAKE"`

func TestInstalled(t *testing.T) {
	t.Parallel()
	stopped := 0
	code, out, log := call([]service{fake(&stopped)}, "sh", "-c", show+`; exit 7`)
	if code != 7 || out != "fake://here\n" || stopped != 1 {
		t.Errorf("exit %d, output %q, stopped %d times; want 7, its DSN, once\n%s", code, out, stopped, log)
	}
}

// TestWanted: before an installation, the log has the packages and reasons.
func TestWanted(t *testing.T) {
	t.Parallel()
	gone := func(name string, packages ...string) service {
		missing := errors.New(name + " is not installed")
		return service{name: name, packages: packages, installed: func() error { return missing }}
	}
	here := fake(new(int))
	here.packages = []string{"here"}
	packages, why := wanted([]service{gone("kafka", "java", "maven"), here, gone("s3"), gone("jq", "jq")}, io.Discard)
	const want = "  java maven                     for tests of kafka: kafka is not installed\n" +
		"  jq                             for tests of jq: jq is not installed\n"
	if got := strings.Join(packages, " "); got != "java maven jq" || why != want {
		t.Errorf("it wants %q, because\n%s\nwant java maven jq, because\n%s", got, why, want)
	}
}

func TestNamedByTheVariable(t *testing.T) {
	t.Setenv("TESTENV_FAKE", "fake://yours")
	stopped := 0
	code, out, log := call([]service{fake(&stopped)}, "sh", "-c", show)
	if code != 0 || out != "fake://yours\n" || stopped != 0 {
		t.Errorf("exit %d, output %q, stopped %d times; want the one that is there left alone\n%s", code, out, stopped, log)
	}
}

func TestStoppedWhenTheNextOneFails(t *testing.T) {
	t.Parallel()
	stopped := 0
	broken := fake(&stopped)
	broken.start = func() (string, func() error, error) { return "", nil, errors.New("no room") }
	code, out, log := call([]service{fake(&stopped), broken}, "sh", "-c", show)
	if code != 1 || out != "" || stopped != 1 || !strings.Contains(log, "no room") {
		t.Errorf("exit %d, output %q, stopped %d times, log %q; want the first stopped, no command", code, out, stopped, log)
	}
}

func TestNoSuchCommand(t *testing.T) {
	t.Parallel()
	stopped := 0
	if code, _, log := call([]service{fake(&stopped)}, "/no/such/command"); code != 1 || stopped != 1 {
		t.Errorf("exit %d, stopped %d times; want 1, once\n%s", code, stopped, log)
	}
	if code, _, _ := call(nil); code != 2 {
		t.Errorf("exit %d without a command; want 2", code)
	}
}

// absent is a service that is not installed, and cannot be.
func absent() service {
	s := fake(new(int))
	s.installed, s.port = func() error { return errors.New("it is not here") }, 1234
	s.dsn = func(address, _ string) string { return "fake://" + address }
	return s
}

// docker replaces docker by a program that records its calls.
func docker(t *testing.T, script string) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\necho \"$*\" >> "+log+"\n"+script),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
}

func TestDocker(t *testing.T) {
	calls := docker(t, `case "$*" in *" port fake 1234") [ -n "$TASKER_TEST_PASSWORD" ] && echo 127.0.0.1:49999 ;; esac`)
	code, out, log := call([]service{absent()}, "sh", "-c", show)
	if code != 0 || out != "fake://127.0.0.1:49999\n" {
		t.Errorf("exit %d, output %q\n%s", code, out, log)
	}
	at := 0
	for _, want := range []string{"info", "up --detach --wait fake", "port fake 1234", "down --volumes"} {
		next := strings.Index(calls()[at:], want)
		if next < 0 {
			t.Fatalf("docker was not called for %q in its turn:\n%s", want, calls())
		}
		at += next
	}
}

// A second port has its own variable.
func TestDockerSecondPort(t *testing.T) {
	docker(t, `case "$*" in *" port fake 1234") echo here:1 ;; *" port fake 5678") echo here:2 ;; esac`)
	two := absent()
	two.second = &endpoint{"TESTENV_SECOND", 5678, func(address string) string { return "more://" + address }}
	if code, out, log := call([]service{two}, "sh", "-c", `echo "$TESTENV_FAKE $TESTENV_SECOND"`); code != 0 ||
		out != "fake://here:1 more://here:2\n" {
		t.Errorf("exit %d, output %q\n%s", code, out, log)
	}
}

// fetching is a service that must be fetched first, which needs a tool.
func fetching(stopped *int, tool error) service {
	s, there := fake(stopped), false
	s.installed = func() error {
		if !there {
			return errors.New("it is not here")
		}
		return nil
	}
	s.fetch = func(log io.Writer) error {
		there = tool == nil
		fmt.Fprintln(log, "fetched")
		return tool
	}
	s.port = 1234 // Docker has it, if fetching fails
	return s
}

func TestFetched(t *testing.T) {
	t.Parallel()
	stopped := 0
	code, out, log := call([]service{fetching(&stopped, nil)}, "sh", "-c", show)
	if code != 0 || out != "fake://here\n" || stopped != 1 || strings.Count(log, "fetched") != 1 {
		t.Errorf("exit %d, output %q, stopped %d times; want it fetched once and started\n%s", code, out, stopped, log)
	}
}

func TestNotFetched(t *testing.T) {
	docker(t, `exit 1`)
	code, out, log := call([]service{fetching(new(int), errors.New("no maven"))}, "sh", "-c", show)
	if code != 1 || out != "" || !strings.Contains(log, "no maven") || !strings.Contains(log, "apt-get install") {
		t.Errorf("exit %d, output %q; want the command not run, and advice\n%s", code, out, log)
	}
	t.Setenv("TESTENV_FAKE", "fake://yours")
	if code, out, log = call([]service{fetching(new(int), nil)}, "sh", "-c", show); out != "fake://yours\n" ||
		strings.Contains(log, "fetched") {
		t.Errorf("exit %d, output %q; want the one that is named, and nothing fetched\n%s", code, out, log)
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	stopped := 0
	if code, out, log := call([]service{fake(&stopped)}, "-without", "other,fake", "sh", "-c", show); code != 0 ||
		out != "\n" || stopped != 0 {
		t.Errorf("exit %d, output %q, stopped %d times; want no service\n%s", code, out, stopped, log)
	}
}

func TestDockerDoesNotComeUp(t *testing.T) {
	calls := docker(t, `case "$*" in *" up "*) exit 1 ;; esac`)
	code, out, log := call([]service{absent()}, "sh", "-c", show)
	if code != 1 || out != "" || !strings.Contains(log, "apt-get install") {
		t.Errorf("exit %d, output %q; want the command not run, and advice\n%s", code, out, log)
	}
	if !strings.Contains(calls(), "down") {
		t.Errorf("what came up half was not taken down:\n%s", calls())
	}
}

func TestNothingHelps(t *testing.T) {
	docker(t, `echo "cannot connect"; exit 1`)
	code, out, log := call([]service{absent()}, "sh", "-c", show)
	if code != 1 || out != "" {
		t.Errorf("exit %d, output %q; want the command not run", code, out)
	}
	for _, want := range []string{"it is not here", "cannot connect", "brew install", "TASKER_TEST_POSTGRES=",
		"TASKER_TEST_REDIS=", "TASKER_TEST_RABBITMQ=", "TASKER_TEST_KAFKA=", "TASKER_TEST_CHROMIUM="} {
		if !strings.Contains(log, want) {
			t.Errorf("it does not say %q:\n%s", want, log)
		}
	}
}

// A program that tests start themselves is required in CI only.
func TestProgramIsMissing(t *testing.T) {
	tool := service{name: "tool", installed: func() error { return errors.New("it is not here") }}
	t.Setenv("CI", "")
	if code, _, log := call([]service{tool}, "true"); code != 0 || !strings.Contains(log, "SKIPPED") {
		t.Errorf("exit %d; want the tests run, and a warning\n%s", code, log)
	}
	t.Setenv("CI", "true")
	if code, _, log := call([]service{tool}, "true"); code != 1 || !strings.Contains(log, "it is not here") {
		t.Errorf("exit %d in CI; want 1\n%s", code, log)
	}
}

// A program can have a variable: tests learn its path, and no container has it.
func TestProgramWithVariable(t *testing.T) {
	program := service{
		name: "browser", variable: "TESTENV_FAKE", installed: func() error { return nil },
		start: func() (string, func() error, error) { return "/usr/bin/browser", nil, nil },
	}
	if code, out, log := call([]service{program}, "sh", "-c", show); code != 0 || out != "/usr/bin/browser\n" {
		t.Errorf("exit %d, output %q; want its path\n%s", code, out, log)
	}
	program.installed = func() error { return errors.New("it is not here") }
	t.Setenv("CI", "")
	if code, out, log := call([]service{program}, "sh", "-c", show); code != 0 || out != "\n" ||
		!strings.Contains(log, "SKIPPED") || strings.Contains(log, "Docker") {
		t.Errorf("exit %d, output %q; want the tests run without it, and a warning\n%s", code, out, log)
	}
	t.Setenv("CI", "true")
	if code, _, log := call([]service{program}, "true"); code != 1 || !strings.Contains(log, "it is not here") {
		t.Errorf("exit %d in CI; want 1\n%s", code, log)
	}
}

// TestComposeFile compares the table of services with the file.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(composeFile)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if s.port != 0 && !strings.Contains(string(raw), "\n  "+s.name+":\n") {
			t.Errorf("%s has no service %s", composeFile, s.name)
		}
	}
}

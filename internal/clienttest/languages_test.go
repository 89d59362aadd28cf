//go:build unix

package clienttest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/testserver"
)

// language is a client that has a worker.
type language struct {
	name    string
	threads bool
	// command returns the program and the environment that it needs. ErrMissing: its tools are not installed.
	command func() (program []string, env []string, err error)
}

// languages are all clients. One whose tools are missing is skipped, but not in CI.
var languages = []language{
	{"Go", false, goProgram},
	{"Python", false, pythonProgram},
	{"PythonThreads", true, pythonProgram},
}

// goProgram is this test, which TestMain makes a worker of.
func goProgram() ([]string, []string, error) { return []string{os.Args[0]}, nil, nil }

// client is the directory of the client in a language.
func client(name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join("../../clients", name))
	if err != nil {
		return "", fmt.Errorf("find the client: %w", err)
	}
	return dir, nil
}

// pythonProgram needs no more than a Python that is recent enough.
func pythonProgram() ([]string, []string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, nil, fmt.Errorf("python3: %w", testserver.ErrMissing)
	}
	if err := exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run(); err != nil {
		return nil, nil, errors.Join(testserver.ErrMissing, errors.New("python3 is older than 3.11"))
	}
	dir, err := client("python")
	if err != nil {
		return nil, nil, err
	}
	env := []string{"PYTHONPATH=" + filepath.Join(dir, "src"), "PYTHONDONTWRITEBYTECODE=1"}
	return []string{python, filepath.Join(dir, "tests/behaviour_worker.py")}, env, nil
}

// ready returns the program of a language, or ends the test.
func (l *language) ready(t *testing.T) (program, env []string) {
	t.Helper()
	program, env, err := l.command()
	testserver.OrSkip(t, err)
	return program, env
}

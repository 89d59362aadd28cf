//go:build unix

package clienttest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

type language struct {
	name    string
	threads bool
	// command returns the program and its environment. ErrMissing: its tools are not installed.
	command func() (program []string, env []string, err error)
}

// languages are all clients. One without its tools is skipped, but not in CI.
var languages = []language{
	{"Go", false, goProgram},
	{"Python", false, pythonProgram},
	{"PythonThreads", true, pythonProgram},
	{"TypeScript", false, typescriptProgram},
}

// goProgram is this test binary; see TestMain.
func goProgram() ([]string, []string, error) { return []string{os.Args[0]}, nil, nil }

func client(name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join("../../../clients", name))
	if err != nil {
		return "", fmt.Errorf("find the client: %w", err)
	}
	return dir, nil
}

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

// typescriptProgram uses the compiler of package-lock.json; its first run needs a package registry.
func typescriptProgram() ([]string, []string, error) {
	made, err := typescriptPackage()
	if err != nil {
		return nil, nil, err
	}
	return []string{"node", filepath.Join(made, "dist/test/behaviour_worker.mjs")}, nil, nil
}

// typescriptPackage compiles the client once, and returns its directory.
var typescriptPackage = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"node", "npm", "bash", "flock"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s: %w", tool, testserver.ErrMissing)
		}
	}
	dir, err := client("typescript")
	if err != nil {
		return "", err
	}
	var log strings.Builder
	cmd := exec.Command(filepath.Join(dir, "build"), "directory")
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("compile the TypeScript client: %w\n%s", err, log.String())
	}
	return strings.TrimSpace(string(out)), nil
})

func (l *language) ready(t *testing.T) (program, env []string) {
	t.Helper()
	program, env, err := l.command()
	testserver.OrSkip(t, err)
	return program, env
}

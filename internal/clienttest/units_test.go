//go:build unix

package clienttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/testserver"
)

// TestPython runs the unit tests of the Python client, and the examples in its docstrings.
func TestPython(t *testing.T) {
	t.Parallel()
	program, env, err := pythonProgram()
	testserver.OrSkip(t, err)
	dir, err := client("python")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program[0], "-m", "unittest", "discover", "-s", filepath.Join(dir, "tests"))
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTypeScript runs the unit tests of the TypeScript client.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	made, err := typescriptPackage()
	testserver.OrSkip(t, err)
	tests, err := filepath.Glob(filepath.Join(made, "dist/test/*.test.js"))
	if err != nil || len(tests) < 2 {
		t.Fatalf("tests: %v, %v", tests, err)
	}
	out, err := exec.CommandContext(t.Context(), "node", append([]string{"--test"}, tests...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

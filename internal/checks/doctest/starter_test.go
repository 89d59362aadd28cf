package doctest_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/starter"
	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

// TestStarter runs the README that tasker init writes, for each kind of worker.
func TestStarter(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]string{
		"program": "",
		"python":  fmt.Sprintf("export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/clients/python/src'\n", root),
		// The module that "go mod tidy" would fetch is this one.
		"go": fmt.Sprintf(`sed 's|^module .*|module starter|' '%[1]s/go.mod' > go.mod
cp '%[1]s/go.sum' .
go mod edit -require github.com/taskerhq/tasker@v0.0.0 -replace "github.com/taskerhq/tasker=%[1]s"
go() { if [ "$1" != mod ]; then command go "$@"; fi; }
`, root),
	}
	for _, worker := range starter.Workers() {
		t.Run(worker, func(t *testing.T) {
			t.Parallel()
			if worker == "python" {
				pagetest.NeedPython(t)
			}
			dir := t.TempDir()
			if _, err := starter.Write(dir, worker); err != nil {
				t.Fatal(err)
			}
			page, err := filepath.Rel(root, filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			s := script{page: page, before: fmt.Sprintf("cp '%s'/* .\n", dir) + before[worker]}
			if ran, shown := s.run(t, serve(t)); ran != 2 || shown != 1 {
				t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
			}
		})
	}
}

package doctest_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPythonPage runs docs/python.md.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run(); err != nil {
		t.Skip("python3 is older than 3.11, so THE PAGE IS NOT TESTED")
	}
	before := "export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + source + "'\n"
	if ran, shown := (script{page: "docs/python.md", before: before}).run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

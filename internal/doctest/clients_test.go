package doctest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/pagetest"
)

// TestPythonPage runs docs/guides/python.md.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "python3")
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 is older than 3.11; CI has to run this test")
		}
		t.Skip("python3 is older than 3.11, so THE PAGE IS NOT TESTED")
	}
	before := "export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + source + "'\n"
	if ran, shown := (script{page: "docs/guides/python.md", before: before}).run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// TestTypeScriptPage runs docs/guides/typescript.md, with the package as npm would install it.
func TestTypeScriptPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "node", "npm", "flock")
	made, err := exec.Command("../../clients/typescript/build").Output()
	if err != nil {
		t.Fatal(err)
	}
	before := "mkdir node_modules && ln -s '" + strings.TrimSpace(string(made)) + "' node_modules/tasker-client\n"
	page := script{page: "docs/guides/typescript.md", before: before}
	if ran, shown := page.run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

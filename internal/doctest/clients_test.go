package doctest_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/pagetest"
)

// TestPythonPage runs docs/guides/python.md.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	pagetest.NeedPython(t)
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
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

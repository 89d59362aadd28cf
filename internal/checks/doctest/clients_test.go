package doctest_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestPythonPage(t *testing.T) {
	t.Parallel()
	page := script{page: "docs/guides/python.md", before: pythonClient(t)}
	if ran, shown := page.run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// TestTypeScriptPage uses the package as npm would install it.
func TestTypeScriptPage(t *testing.T) {
	t.Parallel()
	page := script{page: "docs/guides/typescript.md", before: typeScriptClient(t)}
	if ran, shown := page.run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// TestTestingPage: its last chapter starts a server, which must not see the variables of our tests.
func TestTestingPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "jq")
	page := script{page: "docs/guides/testing.md",
		before: "unset ${!TASKER_TEST_@}\n" + pythonClient(t) + typeScriptClient(t)}
	if ran, shown := page.run(t, serve(t)); ran != 5 || shown != 5 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// pythonClient returns commands that make the client available to Python.
func pythonClient(t *testing.T) string {
	t.Helper()
	pagetest.NeedPython(t)
	source, err := filepath.Abs("../../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	return "export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + source + "'\n"
}

// typeScriptClient returns commands that make the client available to Node.js, as from npm.
func typeScriptClient(t *testing.T) string {
	t.Helper()
	pagetest.Need(t, "node", "npm", "flock")
	made, err := exec.Command("../../../clients/typescript/build").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "mkdir -p node_modules/tasker-client && tar -x -z -f '" + strings.TrimSpace(string(made)) +
		"' -C node_modules/tasker-client --strip-components 1\n"
}

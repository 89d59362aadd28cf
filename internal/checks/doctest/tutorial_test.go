package doctest_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

// TestTutorial runs docs/start/tutorial.md. Its folder stands for a clone: it has the Python client, and a go.mod that
// finds the SDK.
func TestTutorial(t *testing.T) {
	t.Parallel()
	pagetest.NeedPython(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf(`export PYTHONDONTWRITEBYTECODE=1
ln -s '%[1]s/clients' clients
sed 's|^module .*|module clone|' '%[1]s/go.mod' > go.mod
cp '%[1]s/go.sum' .
go mod edit -require github.com/taskerhq/tasker@v0.0.0 -replace "github.com/taskerhq/tasker=%[1]s"
`, root)
	if ran, shown := (script{page: "docs/start/tutorial.md", before: before}).run(t, serve(t)); ran != 6 || shown != 3 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

//go:build unix

package clienttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
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
	tests, err := filepath.Glob(filepath.Join(made, "dist/test/*.test.mjs"))
	if err != nil || len(tests) < 2 {
		t.Fatalf("tests: %v, %v", tests, err)
	}
	out, err := exec.CommandContext(t.Context(), "node", append([]string{"--test"}, tests...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTypeScriptPackageStays: an installed package, named by its checksum in a lock file, is unchanged after a build of
// other sources. `require` gets the classes of `import`.
func TestTypeScriptPackageStays(t *testing.T) {
	t.Parallel()
	made, err := typescriptPackage()
	testserver.OrSkip(t, err)
	tools, err := filepath.EvalSymlinks(filepath.Join(made, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	work, source := t.TempDir(), ""
	if source, err = client("typescript"); err != nil {
		t.Fatal(err)
	}
	script := `set -e
cp -r "$SOURCE" client
mkdir -p cache/tasker-typescript
ln -s "$TOOLS" "cache/tasker-typescript/$(basename "$TOOLS")"
package=$(client/build)
cp "$package" before
client/build directory > directory
echo '// another' >> client/src/version.ts
other=$(client/build)
test "$other" != "$package"
cmp before "$package"
test -e "$(cat directory)"
mkdir -p node_modules/tasker-client
tar -x -z -f "$package" -C node_modules/tasker-client --strip-components 1
cat > same.mjs <<'EOF'
import { createRequire } from "node:module";
import { Worker } from "tasker-client";
if (createRequire(import.meta.url)("tasker-client").Worker !== Worker) throw new Error("two classes");
EOF
node same.mjs`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "SOURCE="+source, "TOOLS="+filepath.Dir(tools), "CACHE="+filepath.Join(work, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

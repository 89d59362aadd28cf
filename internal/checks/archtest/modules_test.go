package archtest_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// required is a line of go.mod.
type required struct {
	Path, Version string
	Indirect      bool
}

func requirements(t *testing.T, dir string) []required {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(top, dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read go.mod of %s: %v", dir, err)
	}
	var mod struct{ Require []required }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("decode go.mod of %s: %v", dir, err)
	}
	if len(mod.Require) == 0 {
		t.Fatalf("go.mod of %s requires nothing", dir)
	}
	return mod.Require
}

// TestModulesAgree: what proof proves, it proves with the versions that the product is built with. The two share
// compiled packages, too.
func TestModulesAgree(t *testing.T) {
	t.Parallel()
	product := map[string]string{}
	for _, r := range requirements(t, ".") {
		product[r.Path] = r.Version
	}
	same := 0
	for _, r := range requirements(t, "proof") {
		switch version, ok := product[r.Path]; {
		case ok && version != r.Version:
			t.Errorf("proof/go.mod requires %s %s, and go.mod %s: make them equal, then run go mod tidy in both", r.Path,
				r.Version, version)
		case ok:
			same++
		}
	}
	if same == 0 {
		t.Error("the two modules have no requirement in common: the rule is not read as it should be")
	}
}

// TestWorkspaceIsProofs: a go.work in the root would give the product's users and builds the requirements of proof.
func TestWorkspaceIsProofs(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(top, "go.work")); err == nil {
		t.Error("the root has a go.work: proof/go.work joins the modules")
	}
	if work := read(t, "proof/go.work"); !strings.Contains(work, "\t.\n\t..\n") {
		t.Errorf("proof/go.work does not join the two modules:\n%s", work)
	}
}

// owner returns the required module that a package is in, or "".
func owner(all []required, path string) string {
	in := ""
	for _, r := range all {
		if (path == r.Path || strings.HasPrefix(path, r.Path+"/")) && len(r.Path) > len(in) {
			in = r.Path
		}
	}
	return in
}

// direct returns the modules that the packages of one of our modules import, including tests.
func direct(t *testing.T, dir string, all []required) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, p := range packages(t) {
		if (dir == "proof") != within("proof", p.short()) {
			continue
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if standard(path) || inModule(path) {
				continue
			}
			from := owner(all, path)
			if from == "" {
				t.Errorf("%s imports %s, which go.mod of %s does not require", p.short(), path, dir)
				continue
			}
			used[from] = true
		}
	}
	return used
}

// TestDependenciesAreExplained requires a line in docs/concepts/architecture.md for every imported module.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/concepts/architecture.md")
	used := map[string]bool{}
	for _, dir := range modules {
		maps.Copy(used, direct(t, dir, requirements(t, dir)))
	}
	for _, path := range slices.Sorted(maps.Keys(used)) {
		if !strings.Contains(doc, "| `"+path+"` |") {
			t.Errorf("docs/concepts/architecture.md does not say why %s is there", path)
		}
	}
	for line := range strings.Lines(doc) {
		path, ok := strings.CutPrefix(line, "| `")
		path, _, _ = strings.Cut(path, "`")
		if first, _, deep := strings.Cut(path, "/"); ok && deep && strings.Contains(first, ".") && !used[path] {
			t.Errorf("docs/concepts/architecture.md explains %s, which nobody imports", path)
		}
	}
}

// TestDirectDependenciesAreMarked: a requirement without "indirect" is our choice.
func TestDirectDependenciesAreMarked(t *testing.T) {
	t.Parallel()
	for _, dir := range modules {
		all := requirements(t, dir)
		used := direct(t, dir, all)
		for _, r := range all {
			if used[r.Path] == r.Indirect && r.Path != module {
				t.Errorf("go.mod of %s: %s has indirect=%t, but direct use=%t: run go mod tidy", dir, r.Path, r.Indirect,
					used[r.Path])
			}
		}
	}
}

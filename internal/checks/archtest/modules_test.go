package archtest_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// required is a line of go.mod.
type required struct {
	Path     string
	Indirect bool
}

func requirements(t *testing.T) []required {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read go.mod: %v", err)
	}
	var mod struct{ Require []required }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("decode go.mod: %v", err)
	}
	if len(mod.Require) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return mod.Require
}

// direct returns the modules that our packages import, including tests.
func direct(t *testing.T, all []required) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if standard(path) || inModule(path) {
				continue
			}
			owner := ""
			for _, r := range all {
				if (path == r.Path || strings.HasPrefix(path, r.Path+"/")) && len(r.Path) > len(owner) {
					owner = r.Path
				}
			}
			if owner == "" {
				t.Errorf("%s imports %s, which go.mod does not require", p.short(), path)
				continue
			}
			used[owner] = true
		}
	}
	return used
}

// TestDependenciesAreExplained requires a line in docs/concepts/architecture.md for every imported module.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/concepts/architecture.md")
	used := direct(t, requirements(t))
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
	all := requirements(t)
	used := direct(t, all)
	for _, r := range all {
		if used[r.Path] == r.Indirect {
			t.Errorf("go.mod: %s has indirect=%t, but direct use=%t: run go mod tidy", r.Path, r.Indirect, used[r.Path])
		}
	}
}

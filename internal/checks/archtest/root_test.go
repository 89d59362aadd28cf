package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// made are entries of the root that are no part of the repository: see .gitignore.
var made = []string{".git", "bin", "dist", "dist-files", "coverage.out"}

// TestRootIsShort: a reader takes in the first page of the repository, and of the documentation of package tasker, at
// once. The machinery has its own packages.
func TestRootIsShort(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	all, sources := 0, []string{}
	for _, e := range entries {
		name := e.Name()
		if slices.Contains(made, name) || slices.Contains([]string{".db", ".prof", ".test"}, filepath.Ext(name)) ||
			strings.Contains(name, ".db-") || strings.HasSuffix(name, ".db.lock") {
			continue
		}
		all++
		if filepath.Ext(name) == ".go" {
			sources = append(sources, filepath.Join(top, name))
		}
	}
	types := 0
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						types++
					}
				}
			}
		}
	}
	for _, limit := range []struct {
		what   string
		n, max int
	}{{"entries", all, 45}, {"files of Go", len(sources), 25}, {"exported types", types, 75}} {
		if limit.n > limit.max {
			t.Errorf("the root has %d %s, and %d are the limit: which package is the new one for?", limit.n, limit.what,
				limit.max)
		}
		if limit.n == 0 {
			t.Errorf("no %s were found: the test looks at the wrong place", limit.what)
		}
	}
}

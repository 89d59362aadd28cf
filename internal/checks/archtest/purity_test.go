package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// domain are the pure packages: they import the standard library and each other.
var domain = []string{"deadletters/model",
	"internal/model/deadletter", "internal/kit/envelope", "internal/model/failure", "internal/model/limit",
	"internal/kit/pointer", "internal/model/posturl", "internal/model/schedule", "internal/kit/sensitive",
	"internal/model/task"}

// impure are banned imports of the domain, with the packages below.
var impure = map[string]string{
	"os":          "the domain does no input or output",
	"io":          "the domain does no input or output",
	"net":         "the domain does no input or output",
	"syscall":     "the domain does no input or output",
	"database":    "rows are the business of the stores",
	"log":         "return what happened; the caller logs",
	"context":     "nothing in the domain takes long enough to be cancelled",
	"math/rand":   "a random number is an argument, so that a scenario has one outcome",
	"crypto/rand": "a random number is an argument, so that a scenario has one outcome",
}

func TestDomainIsPure(t *testing.T) {
	t.Parallel()
	for _, name := range domain {
		for _, path := range find(t, name).Imports {
			if !standard(path) && !slices.Contains(domain, short(path)) {
				t.Errorf("%s imports %s: the domain is the standard library only", name, path)
			}
			for ban, why := range impure {
				if path == "net/url" { // it reads texts
					continue
				}
				if path == ban || strings.HasPrefix(path, ban+"/") {
					t.Errorf("%s imports %s: %s", name, path, why)
				}
			}
		}
	}
}

// clock are the functions that read the clock, or wait for it.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

// calls are those that do not wait.
var calls = []string{"Now", "Since", "Until", "Sleep", "Tick"}

// TestTimeIsAnArgument: packages whose behaviour scenarios replay use a given clock. The engine may wait (a long poll),
// and names time.Now once as its default; it never calls it.
func TestTimeIsAnArgument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pkg    string
		banned []string
	}{
		{pkg: "internal/model/deadletter", banned: clock},
		{pkg: "internal/model/failure", banned: clock},
		{pkg: "internal/model/schedule", banned: clock},
		{pkg: "internal/engine/scheduler", banned: clock},
		{pkg: "internal/model/task", banned: clock},
		{pkg: "internal/model/template", banned: clock},
		{pkg: "internal/model/access", banned: clock},
		{pkg: "internal/store", banned: clock},
		{pkg: "internal/store/sqlite", banned: clock},
		{pkg: "internal/testkit/memstore", banned: clock},
		{pkg: "internal/engine/kernel", banned: calls},
		{pkg: "internal/engine/cases", banned: clock},
		{pkg: "internal/engine/submit", banned: clock},
		{pkg: "internal/engine/acts", banned: clock},
		{pkg: "internal/engine/flow", banned: clock},
		{pkg: "internal/engine/figures", banned: clock},
	} {
		eachFile(t, tc.pkg, func(file string, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if name, ok := selected(call.Fun, "time"); ok && slices.Contains(tc.banned, name) {
					t.Errorf("%s calls time.%s: time is an argument, so that scenarios run at any speed", file, name)
				}
				return true
			})
		})
	}
}

// TestNoGoroutines keeps concurrency in package coalesce, the loops, and owners of processes.
func TestNoGoroutines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"internal/model/failure", "internal/model/task", "internal/model/template",
		"internal/engine/kernel", "internal/engine/cases", "internal/engine/submit", "internal/engine/acts",
		"internal/engine/flow", "internal/engine/figures", "internal/store", "internal/store/sqlite",
		"internal/testkit/memstore", "internal/host/config", "internal/model/access"} {
		eachFile(t, name, func(file string, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine: only coalesce, loops and whoever runs a process do", file)
				}
				return true
			})
		})
	}
}

// TestNoRegistration bans init functions and other work before main.
func TestNoRegistration(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		eachFile(t, p.short(), func(file string, f *ast.File) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function: what a program holds is wired in internal/host/app, where it can be read", file)
				}
			}
		})
	}
}

// eachFile excludes tests.
func eachFile(t *testing.T, name string, fn func(file string, f *ast.File)) {
	t.Helper()
	p := find(t, name)
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		fn(name+"/"+file, f)
	}
}

// selected returns Name of an expression pkg.Name.
func selected(e ast.Expr, pkg string) (string, bool) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := s.X.(*ast.Ident)
	return s.Sel.Name, ok && x.Name == pkg
}

package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// joinedKeys are justified joined keys, by file and key.
var joinedKeys = map[string]string{
	"internal/host/config/file.go: sub":                     "a path of the file, as messages show it: at worst a line is wrong",
	"internal/engine/cases/failures.go: key(p)":             "the map is stored as JSON, and no text in it may have a NUL",
	"internal/model/expr/compile.go: path":                  "what is no plain name stands in quotes",
	"internal/api/httpapi/endpoint/methods.go: e.pattern()": "the router's own text; no method has a space",
}

// TestKeysAreNotJoined refuses keys of maps that join two texts with a separator: "acme" and "eu/pay" would equal
// "acme/eu" and "pay". Use a struct of the texts.
func TestKeysAreNotJoined(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range packages(t) {
		joins := joiners{}
		eachFile(t, p.short(), func(_ string, f *ast.File) { joins.learn(f) })
		eachFile(t, p.short(), func(file string, f *ast.File) {
			for _, key := range joins.keys(f) {
				at := file + ": " + key
				if used[at] = true; joinedKeys[at] == "" {
					t.Errorf("%s joins texts to a key: two pairs of texts have the same one; use a struct of them", at)
				}
			}
		})
	}
	for at := range joinedKeys {
		if !used[at] {
			t.Errorf("%s is no joined key any more: take it off the list", at)
		}
	}
}

// TestJoinedKeysAreFound tests the rule.
func TestJoinedKeysAreFound(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`m[a + "/" + b] = 1`:                               `a + "/" + b`,
		`_ = m[a+"\x00"+b]`:                                `a + "\x00" + b`,
		`k := s.A + ": " + s.B; if m[k] == 1 {}`:           `k`,
		`var k = a + "|" + b; delete(m, k)`:                `k`,
		`_ = map[string]int{a + "." + b: 1}`:               `a + "." + b`,
		`m[fmt.Sprintf("%s/%s", a, b)]++`:                  `fmt.Sprintf("%s/%s", a, b)`,
		`m[fmt.Sprint(a, "/", b)]++`:                       `fmt.Sprint(a, "/", b)`,
		`m[strings.Join([]string{a, b}, "/")]++`:           `strings.Join([]string{…}, "/")`,
		`sm.Store(a + "/" + b, 1)`:                         `a + "/" + b`,
		`sm.LoadOrStore(join(a, b), 1)`:                    `join(a, b)`,
		`m[s.key()] = 1`:                                   `s.key()`,
		`m[a + "/"] = 1; m["x/" + a] = 1; m[a] = 1`:        ``,
		`m[K{a, b}] = 1; k := a + "/" + b; _ = k`:          ``,
		`m[fmt.Sprintf("%d/%d", i, j)] = 1`:                ``,
		`k := a + "/" + b; { k := a; m[k] = 1 }; print(k)`: ``,
	} {
		source := "package p\nfunc join(a, b string) string { return a + \"/\" + b }\n" +
			"func (s *S) key() string { return s.A + \":\" + s.B }\nfunc f() {\n" + body + "\n}\n"
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		joins := joiners{}
		joins.learn(f)
		if got := strings.Join(joins.keys(f), "; "); got != want {
			t.Errorf("%s has the joined keys %q, want %q", body, got, want)
		}
	}
}

// joiners are a package's functions and methods that join texts, by name.
type joiners map[string]bool

func (j joiners) learn(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 && j.joined(r.Results[0], nil) {
				j[fn.Name.Name] = true
			}
			return true
		})
	}
}

func (j joiners) keys(f *ast.File) []string {
	var found []string
	for _, d := range f.Decls {
		ast.Walk(&keyVisitor{joins: j, found: &found}, d)
	}
	return found
}

// keyVisitor walks a function. vars are the variables of its scopes: whether each is a joined text.
type keyVisitor struct {
	joins joiners
	vars  []map[string]bool
	found *[]string
}

func (v *keyVisitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl, *ast.FuncLit, *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause:
		inner := *v
		inner.vars = append(slices.Clip(v.vars), map[string]bool{})
		return &inner
	case *ast.AssignStmt:
		v.assign(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		names := make([]ast.Expr, len(n.Names))
		for i, name := range n.Names {
			names[i] = name
		}
		v.assign(names, n.Values)
	case *ast.IndexExpr:
		v.key(n.Index)
	case *ast.CompositeLit:
		if _, is := n.Type.(*ast.MapType); is {
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					v.key(pair.Key)
				}
			}
		}
	case *ast.CallExpr:
		v.call(n)
	}
	return v
}

// call checks the key of delete and of the methods of sync.Map.
func (v *keyVisitor) call(n *ast.CallExpr) {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		if f.Name == "delete" && len(n.Args) == 2 {
			v.key(n.Args[1])
		}
	case *ast.SelectorExpr:
		if slices.Contains([]string{"Load", "Store", "LoadOrStore", "LoadAndDelete", "Swap", "CompareAndSwap"}, f.Sel.Name) &&
			len(n.Args) > 0 {
			v.key(n.Args[0])
		}
	}
}

func (v *keyVisitor) assign(names, values []ast.Expr) {
	for i, name := range names {
		if id, ok := name.(*ast.Ident); ok && len(values) == len(names) && len(v.vars) > 0 {
			v.vars[len(v.vars)-1][id.Name] = v.joins.joined(values[i], v.vars)
		}
	}
}

func (v *keyVisitor) key(e ast.Expr) {
	if v.joins.joined(e, v.vars) {
		*v.found = append(*v.found, types.ExprString(e))
	}
}

// separator is a text between two others.
var separator = regexp.MustCompile(`^[\s/:|.,;@#\x00-\x1f-]{1,3}$`)

// formats joins texts with a separator.
var formats = regexp.MustCompile(`%[sqv][/:|.,;@#\s\x00-\x1f-]{1,3}%[sqv]`)

// joined reports whether an expression joins two texts with a separator.
func (j joiners) joined(e ast.Expr, vars []map[string]bool) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return j.joined(e.X, vars)
	case *ast.Ident:
		for _, scope := range slices.Backward(vars) {
			if is, known := scope[e.Name]; known {
				return is
			}
		}
	case *ast.BinaryExpr:
		return e.Op == token.ADD && separates(terms(e))
	case *ast.CallExpr:
		return j.joins(e)
	}
	return false
}

func (j joiners) joins(e *ast.CallExpr) bool {
	switch f := e.Fun.(type) {
	case *ast.Ident:
		return j[f.Name]
	case *ast.SelectorExpr:
		switch types.ExprString(f) {
		case "fmt.Sprintf":
			text, ok := literal(e.Args[0])
			return ok && formats.MatchString(text)
		case "fmt.Sprint":
			return separates(e.Args)
		case "strings.Join":
			_, list := e.Args[0].(*ast.CompositeLit)
			text, ok := literal(e.Args[1])
			return ok && list && separator.MatchString(text)
		}
		return j[f.Sel.Name]
	}
	return false
}

// terms are the summands of a sum.
func terms(e ast.Expr) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return append(terms(b.X), terms(b.Y)...)
	}
	return []ast.Expr{e}
}

// separates reports whether a separator is between two other texts that are not constants.
func separates(list []ast.Expr) bool {
	for i := 1; i+1 < len(list); i++ {
		_, before := literal(list[i-1])
		_, after := literal(list[i+1])
		if text, ok := literal(list[i]); ok && separator.MatchString(text) && !before && !after {
			return true
		}
	}
	return false
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

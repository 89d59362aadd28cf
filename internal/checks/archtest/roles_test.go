package archtest_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// storeRole is an interface that the engine declares for a database.
type storeRole struct {
	own    int      // its own methods
	widest int      // the most methods of its own under one heading
	parts  []string // the roles that it is composed of
}

// storeRoles returns the interfaces of store*.go. A heading is a comment between methods that belongs to none.
func storeRoles(t *testing.T) map[string]storeRole {
	t.Helper()
	roles := map[string]storeRole{}
	eachFile(t, "internal/engine/kernel", func(file string, f *ast.File) {
		if !strings.HasPrefix(file, "internal/engine/kernel/store") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if in, ok := spec.Type.(*ast.InterfaceType); ok {
				roles[spec.Name.Name] = roleOf(in, headings(f, in))
			}
			return true
		})
	})
	return roles
}

func roleOf(in *ast.InterfaceType, headings []token.Pos) (r storeRole) {
	under := map[int]int{} // methods by the number of headings before them
	for _, m := range in.Methods.List {
		if id, ok := m.Type.(*ast.Ident); ok {
			r.parts = append(r.parts, id.Name)
			continue
		}
		r.own += len(m.Names)
		i, _ := slices.BinarySearch(headings, m.Pos())
		under[i] += len(m.Names)
		r.widest = max(r.widest, under[i])
	}
	return r
}

// headings returns the comments in an interface that belong to no method.
func headings(f *ast.File, in *ast.InterfaceType) (at []token.Pos) {
	of := map[*ast.CommentGroup]bool{}
	for _, m := range in.Methods.List {
		of[m.Doc], of[m.Comment] = true, true
	}
	for _, c := range f.Comments {
		if in.Pos() < c.Pos() && c.End() < in.End() && !of[c] {
			at = append(at, c.Pos())
		}
	}
	return at
}

// TestStoreRoles keeps the engine's roles of a database readable, and its transaction from growing with each domain: a
// domain has its own role, which takes the transaction.
func TestStoreRoles(t *testing.T) {
	t.Parallel()
	const most, role = 60, 6
	roles := storeRoles(t)
	for name, r := range roles {
		if r.widest > role {
			t.Errorf("engine.%s has %d methods under one heading; a role has at most %d", name, r.widest, role)
		}
	}
	var all func(name string) int
	all = func(name string) int {
		n := roles[name].own
		for _, part := range roles[name].parts {
			n += all(part)
		}
		return n
	}
	store, tx := all("Store"), all("Tx")
	if store == 0 || tx == 0 {
		t.Fatal("engine.Store or engine.Tx has no methods: this test looks for them in the wrong place")
	}
	if store+tx >= most {
		t.Errorf("engine.Store has %d methods and engine.Tx %d, together at least %d: give the domain a role of its own",
			store, tx, most)
	}
	t.Logf("Store %d, Tx %d, Database %d", store, tx, all("Database"))
}

// TestStoreRolesAreTaken finds roles that only group methods: each role must be the type of something in the engine.
func TestStoreRolesAreTaken(t *testing.T) {
	t.Parallel()
	roles, taken := storeRoles(t), map[string]bool{}
	for _, room := range []string{"kernel", "cases", "submit", "acts", "flow", "figures", "office"} {
		eachFile(t, "internal/engine/"+room, func(file string, f *ast.File) {
			if strings.HasPrefix(file, "internal/engine/kernel/store") || strings.HasSuffix(file, "_test.go") {
				return
			}
			ast.Inspect(f, func(n ast.Node) bool {
				field, ok := n.(*ast.Field) // of a struct, of an interface, or among parameters and results
				if !ok {
					return true
				}
				switch of := field.Type.(type) {
				case *ast.Ident:
					taken[of.Name] = true
				case *ast.SelectorExpr:
					taken[of.Sel.Name] = true
				}
				return true
			})
		})
	}
	// Results of Database and Tx, whose parts the engine takes directly.
	given := map[string]bool{"CaseStore": true, "QueueStore": true, "GateStore": true, "ChildStore": true, "Handle": true}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if !taken[name] && !given[name] {
			t.Errorf("nothing takes engine.%s: take it instead of the whole, or give its methods to the wider interface "+
				"under a heading", name)
		}
	}
}

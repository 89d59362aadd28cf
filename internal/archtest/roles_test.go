package archtest_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestStoreRoles keeps what the engine asks of a database in roles that can be read at a glance, and its transaction
// from growing with each new domain: a domain has a role of its own, which takes the transaction.
func TestStoreRoles(t *testing.T) {
	t.Parallel()
	const most, role = 60, 6
	own, parts := map[string]int{}, map[string][]string{}
	eachFile(t, "internal/engine", func(file string, f *ast.File) {
		if !strings.HasPrefix(file, "internal/engine/store") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			in, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, m := range in.Methods.List {
				if id, ok := m.Type.(*ast.Ident); ok {
					parts[spec.Name.Name] = append(parts[spec.Name.Name], id.Name)
				} else {
					own[spec.Name.Name] += len(m.Names)
				}
			}
			return true
		})
	})
	for name, n := range own {
		if n > role {
			t.Errorf("engine.%s has %d methods of its own; a role has at most %d", name, n, role)
		}
	}
	var all func(name string) int
	all = func(name string) int {
		n := own[name]
		for _, part := range parts[name] {
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

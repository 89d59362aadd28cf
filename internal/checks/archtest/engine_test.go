package archtest_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestQueueSeam: only the two implementations of the engine's queue, and the coordinator, which agrees with other
// processes on it, distinguish whether a dispatcher is in use.
func TestQueueSeam(t *testing.T) {
	t.Parallel()
	knows := func(file string) bool {
		name := strings.TrimPrefix(file, "internal/engine/kernel/")
		return name == "kernel.go" || strings.HasPrefix(name, "dispatch") || strings.HasPrefix(name, "coordinator")
	}
	eachFile(t, "internal/engine/kernel", func(file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "dispatch" && !knows(file) {
				t.Errorf("%s asks for the dispatcher: ask Engine.queue, which is the store or a dispatcher", file)
			}
			return true
		})
	})
}

// TestUnitKnowsNoFeature keeps the features out of the centre of the engine: its unit of work tells all of them alike.
// A feature's state in a unit is in a slot, which only files of features name.
func TestUnitKnowsNoFeature(t *testing.T) {
	t.Parallel()
	kernel := []string{"unit.go", "unit_rows.go", "unit_families.go", "unit_records.go", "unit_wake.go",
		"unit_observe.go", "kernel.go", "points.go", "kernel_work.go", "traits.go", "caller_tx.go", "settle.go",
		"handoff.go"}
	eachFile(t, "internal/engine/kernel", func(file string, f *ast.File) {
		if !slices.Contains(kernel, strings.TrimPrefix(file, "internal/engine/kernel/")) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && strings.HasSuffix(id.Name, "Slot") {
				t.Errorf("%s names %s: let the feature ask for the moment; see internal/engine/kernel/points.go", file, id.Name)
			}
			return true
		})
	})
}

// TestUnitStaysSmall keeps a unit of work in parts that can be read one at a time.
func TestUnitStaysSmall(t *testing.T) {
	t.Parallel()
	const maxFields, maxMethods = 16, 60
	parts := []string{"loadedRows", "newRecords", "readySteps", "dispatchedLeases", "wakeups", "observed",
		// what features remember in a unit
		"breakerOutcomes", "outageOutcomes", "turns", "gates"}
	methods := map[string]int{}
	eachFile(t, "internal/engine/kernel", func(file string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[receiver(fn)]++
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && (spec.Name.Name == "Unit" || slices.Contains(parts, spec.Name.Name)) {
				if n := s.Fields.NumFields(); n > maxFields {
					t.Errorf("%s: %s has %d fields; %d are enough for one part", file, spec.Name.Name, n, maxFields)
				}
			}
			return true
		})
	})
	for _, part := range append(parts, "Unit") {
		if n := methods[part]; n == 0 || n > maxMethods {
			t.Errorf("internal/engine/kernel: %s has %d methods; give it a part, or take it off the list", part, n)
		}
	}
}

func receiver(fn *ast.FuncDecl) string {
	e := fn.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

package app_test

import (
	"fmt"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// TestNewestVersion: a submission without a version means the last registered one on any node, even where an older
// one was just used.
func TestNewestVersion(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, b := runNode(t, dsn), runNode(t, dsn)
	for i, at := range []*node{a, a, b, a, b} {
		version := fmt.Sprint(10 - i)
		if _, err := at.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: "name: x\nnamespace_name: n\nversion: \"" +
			version + "\"\nsteps:\n  - {name: a, handler: h}\n"}); err != nil {
			t.Fatal(err)
		}
		for name, n := range map[string]*node{"a": a, "b": b} {
			receipt, err := n.Submit(t.Context(), tasker.TaskRequest{Namespace: "n", Name: "x"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := n.Task(t.Context(), receipt.TaskUUID, 0)
			if err != nil || got.Version != version {
				t.Errorf("after version %s, a submission through node %s has version %s, %v", version, name, got.Version, err)
			}
		}
	}
}

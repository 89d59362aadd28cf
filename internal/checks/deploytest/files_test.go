package deploytest_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/document"
)

func yamlFile(t *testing.T, name string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return yamlText(t, name, raw)
}

func yamlText(t *testing.T, name string, raw []byte) map[string]any {
	t.Helper()
	limits := document.Limits{Marks: 1e6, Entries: 1e4, Depth: 100, Nodes: 1e5, Merged: 1e4, Digits: 50}
	node := document.Parse(raw, document.Options{What: name, Limits: limits,
		Report: func(at document.Position, message string) { t.Errorf("%s: %v: %s", name, at, message) }})
	if node == nil {
		t.Fatalf("%s is empty", name)
	}
	out, ok := node.Value().(map[string]any)
	if !ok {
		t.Fatalf("%s is no mapping", name)
	}
	return out
}

// as converts by encoding/json; unknown members are dropped.
func as[T any](t *testing.T, v any) T {
	t.Helper()
	var out T
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

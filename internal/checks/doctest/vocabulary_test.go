package doctest_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/names.txt")

// namesFile lists the names of all properties and parameters of the HTTP API.
const namesFile = "testdata/names.txt"

// TestNewNames: compare a new name in the API with the glossary before accepting it. Two names for one concept confuse
// users.
func TestNewNames(t *testing.T) {
	t.Parallel()
	used := apiNames(t)
	names := make([]string, 0, len(used))
	for name := range used {
		names = append(names, name)
	}
	slices.Sort(names)
	if *update {
		if err := os.WriteFile(namesFile, []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(namesFile)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(raw))
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("the API has a new name %s. If docs/concepts/glossary.md has a word for the concept, use that word. "+
				"Otherwise run go test ./internal/checks/doctest -run NewNames -update", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(names, name) {
			t.Errorf("the API has no name %s any more; run go test ./internal/checks/doctest -run NewNames -update", name)
		}
	}
}

// TestSynonymsStayWhereTheyAre: a concept's other name appears only at the endpoints in the glossary.
func TestSynonymsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	used := apiNames(t)
	rows := synonyms(t)
	if len(rows) < 30 {
		t.Fatalf("docs/concepts/glossary.md has only %d other names", len(rows))
	}
	for name, places := range rows {
		paths := used[name]
		if len(paths) == 0 {
			t.Errorf("docs/concepts/glossary.md has the other name %s, but the API does not", name)
		}
		for _, path := range paths {
			if !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(path, place) }) {
				t.Errorf("%s has the name %s; docs/concepts/glossary.md allows it only at %v", path, name, places)
			}
		}
	}
}

var code = regexp.MustCompile("`([^`]+)`")

// synonyms reads the glossary's table: the places of each other name.
func synonyms(t *testing.T) map[string][]string {
	t.Helper()
	_, chapter, ok := strings.Cut(read(t, "docs/concepts/glossary.md"), "## One concept, one word\n")
	if !ok {
		t.Fatal("docs/concepts/glossary.md has no chapter One concept, one word")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	rows := map[string][]string{}
	for line := range strings.Lines(chapter) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		for _, name := range code.FindAllStringSubmatch(cells[3], -1) {
			for _, place := range code.FindAllStringSubmatch(cells[4], -1) {
				rows[name[1]] = append(rows[name[1]], place[1])
			}
		}
	}
	return rows
}

// apiNames returns the paths of the OpenAPI document by the names of their properties and parameters.
func apiNames(t *testing.T) map[string][]string {
	t.Helper()
	var doc struct {
		Paths      map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(read(t, "internal/api/httpapi/testdata/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string][]string{}
	for path, operations := range doc.Paths {
		n := nameWalk{schemas: doc.Components.Schemas, seen: map[string]bool{}, names: map[string]bool{}}
		n.walk(operations)
		for name := range n.names {
			used[name] = append(used[name], path)
		}
	}
	if len(used) < 300 {
		t.Fatalf("the OpenAPI document has only %d names", len(used))
	}
	return used
}

type nameWalk struct {
	schemas     map[string]any
	seen, names map[string]bool
}

func (n *nameWalk) walk(node any) {
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			n.walk(v)
		}
	case map[string]any:
		n.object(node)
	}
}

func (n *nameWalk) object(node map[string]any) {
	if ref, ok := node["$ref"].(string); ok && !n.seen[ref] {
		n.seen[ref] = true
		n.walk(n.schemas[strings.TrimPrefix(ref, "#/components/schemas/")])
	}
	if properties, ok := node["properties"].(map[string]any); ok {
		for name := range properties {
			n.names[name] = true
		}
	}
	if in, ok := node["in"].(string); ok && (in == "query" || in == "path") {
		n.names[node["name"].(string)] = true
	}
	for key, v := range node {
		if key != "example" && key != "examples" && key != "default" {
			n.walk(v)
		}
	}
}

package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestTemplate checks the shape of the embedded workflow: the diamond, and that
// its words are those of the code. That the document is valid is the engine's to
// say; the end-to-end test asks it.
func TestTemplate(t *testing.T) {
	t.Parallel()
	var doc struct {
		Name        string `yaml:"name"`
		Namespace   string `yaml:"namespace_name"`
		Version     string `yaml:"version"`
		InputSchema struct {
			Properties map[string]any `yaml:"properties"`
			Required   []string       `yaml:"required"`
		} `yaml:"input_schema"`
		Steps []struct {
			Name         string   `yaml:"name"`
			Handler      string   `yaml:"handler"`
			Dependencies []string `yaml:"dependencies"`
		} `yaml:"steps"`
	}
	if err := yaml.Unmarshal([]byte(TemplateSource().YAML), &doc); err != nil {
		t.Fatal(err)
	}

	t.Run("Identity", func(t *testing.T) {
		t.Parallel()
		if doc.Name != templateName || doc.Namespace != namespace || doc.Version != templateVersion {
			t.Errorf("template is %s/%s %s, the code says %s/%s %s",
				doc.Namespace, doc.Name, doc.Version, namespace, templateName, templateVersion)
		}
	})

	t.Run("Diamond", func(t *testing.T) {
		t.Parallel()
		got := map[string][]string{}
		for _, s := range doc.Steps {
			got[s.Name] = s.Dependencies
			if s.Handler != s.Name {
				t.Errorf("step %s has handler %s", s.Name, s.Handler)
			}
		}
		want := map[string][]string{
			stepParse:    nil,
			stepFlight:   {stepParse},
			stepNames:    {stepParse},
			stepPrice:    {stepParse},
			stepSeverity: {stepFlight, stepNames, stepPrice},
			stepPublish:  {stepSeverity},
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("dependencies are %v, want %v", got, want)
		}
	})

	t.Run("SchemaHasTheFieldsOfARow", func(t *testing.T) {
		t.Parallel()
		body, err := json.Marshal(clean())
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		have, want := slices.Sorted(maps.Keys(doc.InputSchema.Properties)), slices.Sorted(maps.Keys(fields))
		if !slices.Equal(have, want) {
			t.Errorf("schema has %v, a row has %v", have, want)
		}
		for _, name := range doc.InputSchema.Required {
			if fields[name] == nil {
				t.Errorf("schema requires %s, which a row does not have", name)
			}
		}
	})
}

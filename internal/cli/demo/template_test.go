package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/model/template"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	src := TemplateSource()
	parsed, err := template.Parse(src.Filename, []byte(src.YAML), nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("Identity", func(t *testing.T) {
		t.Parallel()
		if parsed.Name != templateName || parsed.Namespace != namespace || parsed.Version != templateVersion {
			t.Errorf("template is %s/%s %s, the code says %s/%s %s",
				parsed.Namespace, parsed.Name, parsed.Version, namespace, templateName, templateVersion)
		}
	})

	t.Run("Diamond", func(t *testing.T) {
		t.Parallel()
		got := map[string][]string{}
		for _, s := range parsed.Steps {
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
		if len(parsed.Steps) != stepsPerReport {
			t.Errorf("%d steps, the code says %d", len(parsed.Steps), stepsPerReport)
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("dependencies are %v, want %v", got, want)
		}
	})

	// A dirty report must reach the step that can explain it: the schema only refuses what is no report.
	t.Run("SchemaTakesEveryRow", func(t *testing.T) {
		t.Parallel()
		schema, err := template.CompileSchema(parsed.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rowsOf(t) {
			body, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if problems := schema.Check(body); len(problems) > 0 {
				t.Fatalf("record %d: %v", row.Record, problems)
			}
		}
		if problems := schema.Check([]byte(`{"record": "first"}`)); len(problems) == 0 {
			t.Error("schema takes what is no report")
		}
	})
}

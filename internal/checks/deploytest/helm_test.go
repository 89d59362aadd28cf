package deploytest_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/config"
)

// rendered is the chart's output for deploy/helm/testdata/values.yaml. `make helm` compares it with Helm.
const rendered = "deploy/helm/testdata/rendered.yaml"

// object is the tested part of a Kubernetes object.
type object struct {
	Kind     string         `json:"kind"`
	Metadata map[string]any `json:"metadata"`
	Data     map[string]string
	Spec     struct {
		Selector map[string]any
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		pod
	}
}

type pod struct {
	Automount       *bool `json:"automountServiceAccountToken"`
	SecurityContext struct {
		NonRoot bool `json:"runAsNonRoot"`
	}
	Grace      int `json:"terminationGracePeriodSeconds"`
	Containers []struct {
		Args []string
		Env  []struct {
			Name, Value string
			ValueFrom   map[string]any
		}
		StartupProbe, LivenessProbe, ReadinessProbe probe
		SecurityContext                             struct {
			ReadOnly bool `json:"readOnlyRootFilesystem"`
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string }
}

func objects(t *testing.T) []object {
	t.Helper()
	var list []object
	for part := range strings.SplitSeq(text(t, rendered), "\n---\n") {
		if strings.Contains(part, "kind:") {
			list = append(list, as[object](t, yamlText(t, rendered, []byte(part))))
		}
	}
	return list
}

// TestChart: pods run as nobody on a read-only root without a cluster token, secrets are references, the probes use
// existing routes, and the settings are valid.
func TestChart(t *testing.T) {
	t.Parallel()
	var api struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(text(t, "internal/api/httpapi/testdata/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	settings := ""
	for _, o := range objects(t) {
		if kinds[o.Kind]++; o.Kind == "ConfigMap" {
			settings = o.Data["tasker.yaml"]
		}
	}
	for _, o := range objects(t) {
		p := o.Spec.Template.Spec
		if o.Kind == "Pod" {
			p = o.Spec.pod
		}
		for _, c := range p.Containers {
			if !p.SecurityContext.NonRoot || p.Automount == nil || *p.Automount || !c.SecurityContext.ReadOnly {
				t.Errorf("%s %s has rights that it does not need", o.Kind, o.Metadata["name"])
			}
			var environ []string
			for _, v := range c.Env {
				value := v.Value
				switch {
				case v.Name == "TASKER_DB", v.Name == "TASKER_DISPATCH":
					if value != "" || v.ValueFrom["secretKeyRef"] == nil {
						t.Errorf("%s: %s is no reference to a secret", o.Kind, v.Name)
					}
					value = map[string]string{"TASKER_DB": "postgres://db/tasker", "TASKER_DISPATCH": "redis://r:6379"}[v.Name]
				}
				environ = append(environ, v.Name+"="+value)
			}
			if _, err := config.Load(config.Sources{Environ: environ, Text: settings, TextName: "config"}); err != nil {
				t.Errorf("%s: %v", o.Kind, err)
			}
			if o.Kind != "Deployment" {
				continue
			}
			for name, at := range map[string]string{"/health/live": c.LivenessProbe.HTTPGet.Path,
				"/health/ready": c.ReadinessProbe.HTTPGet.Path} {
				if _, ok := api.Paths[name]; !ok || at != name {
					t.Errorf("the probe of %s asks %s; is it a route: %t", name, at, ok)
				}
			}
			if drain := config.Default().Server.DrainTimeout.Seconds(); float64(p.Grace) < 2*drain {
				t.Errorf("it is killed after %d s; it drains for %g s", p.Grace, drain)
			}
		}
	}
	want := map[string]int{"ConfigMap": 1, "Deployment": 1, "Job": 1, "Pod": 1, "PodDisruptionBudget": 1, "Service": 1,
		"ServiceAccount": 1}
	if !maps.Equal(kinds, want) {
		t.Errorf("the chart has %v", kinds)
	}
}

// TestChartSelects: the service selects nodes only, not the pods of the job and of the test.
func TestChartSelects(t *testing.T) {
	t.Parallel()
	var selector map[string]any
	labels := map[string]map[string]string{}
	for _, o := range objects(t) {
		switch o.Kind {
		case "Service":
			selector = o.Spec.Selector
		case "Pod":
			labels["Pod"] = as[map[string]string](t, o.Metadata["labels"])
		case "Job", "Deployment":
			labels[o.Kind] = o.Spec.Template.Metadata.Labels
		}
	}
	for kind, has := range labels {
		selected := len(selector) > 0
		for name, value := range selector {
			selected = selected && has[name] == value
		}
		if selected != (kind == "Deployment") {
			t.Errorf("the service with %v selects %s: %t", selector, kind, selected)
		}
	}
}

// TestChartIsRendered: the golden file has an object for every template of the chart.
func TestChartIsRendered(t *testing.T) {
	t.Parallel()
	var templates []string
	for _, dir := range []string{"templates", "templates/tests"} {
		files, err := os.ReadDir("../../../deploy/helm/tasker/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".yaml") {
				templates = append(templates, "tasker/"+dir+"/"+f.Name())
			}
		}
	}
	slices.Sort(templates)
	sources := all(`(?m)^# Source: (\S+)$`, text(t, rendered))
	slices.Sort(sources)
	if !slices.Equal(templates, slices.Compact(sources)) {
		t.Errorf("templates are %v, rendered are %v: make helm", templates, sources)
	}
}

package deploytest_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

type query struct{ panel, expr string }

// queries reads the dashboard, with Grafana's variables replaced.
func queries(t *testing.T) []query {
	t.Helper()
	raw, err := os.ReadFile(deploy + "/grafana/tasker.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name, Type string
				Query      json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", "tasker", "$namespace", ".*")
	var all []query
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, query{"panel " + p.Title, variables.Replace(target.Expr)})
		}
	}
	for _, v := range dashboard.Templating.List {
		if m := regexp.MustCompile(`label_values\((\w+), \w+\)`).FindSubmatch(v.Query); m != nil {
			all = append(all, query{"variable " + v.Name, string(m[1])})
		} else if v.Type == "query" {
			t.Errorf("the variable %s asks %s", v.Name, v.Query)
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d queries were read; the dashboard is not read as it should be", len(all))
	}
	return all
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	t.Run("MetricsExist", func(t *testing.T) {
		t.Parallel()
		there := everything(t)
		for _, q := range queries(t) {
			there.has(t, q.panel, q.expr)
		}
	})
	t.Run("EveryMetricIsShown", func(t *testing.T) {
		t.Parallel()
		var shown strings.Builder
		for _, q := range queries(t) {
			shown.WriteString(q.expr + "\n")
		}
		for name := range everything(t) {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count"), "_bucket")
			if strings.HasPrefix(name, "tasker_") && !strings.Contains(shown.String(), base) {
				t.Errorf("no panel shows %s", base)
			}
		}
	})
}

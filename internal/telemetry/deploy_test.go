package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
	"github.com/taskerhq/tasker/internal/telemetry"
)

const deploy = "../../deploy"

// promtool returns Prometheus' own tool: PROMTOOL names it, else it is looked for
// in the PATH. Without it the test is skipped, but never on CI.
func promtool(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PROMTOOL")
	if path == "" {
		path, _ = exec.LookPath("promtool") // "" when there is none
	}
	switch {
	case path != "":
	case os.Getenv("CI") == "true":
		t.Fatal("promtool is not installed, and on CI it has to be: it is in the package prometheus; PROMTOOL may name it")
	default:
		t.Skip("SKIPPED: promtool is not installed, so the alert rules and the queries of the dashboard are not checked; it is in the package prometheus, and PROMTOOL may name it")
	}
	return path
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// ruleFile is the part of a rule file that the tests look at.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert  string            `yaml:"alert,omitempty"`
	Record string            `yaml:"record,omitempty"`
	Expr   string            `yaml:"expr"`
	For    string            `yaml:"for,omitempty"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

// rules reads the alert rules.
func rules(t *testing.T) []rule {
	t.Helper()
	raw, err := os.ReadFile(deploy + "/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file ruleFile
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 4 {
		t.Fatalf("%d rules were read", len(all))
	}
	return all
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	t.Run("AsPublished", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]rule{
			"HighPendingDLQInvestigations": {Expr: "tasker_dlq_pending_investigations > 50", For: "15m", Labels: map[string]string{"severity": "warning"}},
			"SlowStalenessDetection":       {Expr: "tasker_staleness_detection_duration > 5000", For: "5m", Labels: map[string]string{"severity": "warning"}},
			"HighStalenessRate":            {Expr: "rate(tasker_staleness_tasks_detected_total[5m]) > 10", For: "10m", Labels: map[string]string{"severity": "critical"}},
		} {
			i := slices.IndexFunc(rules(t), func(r rule) bool { return r.Alert == name })
			if i < 0 {
				t.Errorf("there is no rule %s", name)
				continue
			}
			if got := rules(t)[i]; got.Expr != want.Expr || got.For != want.For || got.Labels["severity"] != want.Labels["severity"] {
				t.Errorf("%s is %+v, want %+v", name, got, want)
			}
		}
	})
	t.Run("EachIsTested", func(t *testing.T) {
		t.Parallel()
		tests, err := os.ReadFile(deploy + "/prometheus/alerts_test.yml")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules(t) {
			if !regexp.MustCompile(`alertname: ` + r.Alert + `\n +exp_alerts:\n`).Match(tests) {
				t.Errorf("no test has the rule %s raise an alarm", r.Alert)
			}
		}
	})
	t.Run("Promtool", func(t *testing.T) {
		t.Parallel()
		tool := promtool(t)
		run(t, deploy+"/prometheus", tool, "check", "rules", "alerts.yml")
		run(t, deploy+"/prometheus", tool, "test", "rules", "alerts_test.yml")
	})
	t.Run("MetricsExist", func(t *testing.T) {
		t.Parallel()
		there := everything(t)
		for _, r := range rules(t) {
			there.has(t, "alert "+r.Alert, r.Expr)
		}
	})
}

// query is one query of the dashboard.
type query struct{ panel, expr string }

// queries reads the dashboard, and puts in what Grafana would.
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
	t.Run("QueriesParse", func(t *testing.T) {
		t.Parallel()
		tool := promtool(t)
		// promtool parses the expressions of rules, so each query becomes one
		file := ruleFile{Groups: []ruleGroup{{Name: "dashboard"}}}
		for i, q := range queries(t) {
			file.Groups[0].Rules = append(file.Groups[0].Rules, rule{Record: fmt.Sprintf("query:%d", i), Expr: q.expr})
		}
		raw, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "queries.yml")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, ".", tool, "check", "rules", path)
	})
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

// series are the names of what /metrics answers, with the names of their labels.
type series map[string]map[string]bool

// everything is the answer after everything that has a metric has happened.
func everything(t *testing.T) series {
	t.Helper()
	r := newRig(t, telemetry.Options{})
	r.tel.Watch(func(ctx context.Context) (*engine.Census, error) {
		c, err := r.Census(ctx)
		if err == nil {
			c.Investigations = engine.Investigations{Pending: 1, Health: map[string]int{"healthy": 1, "warning": 1, "stale": 1}}
		}
		return c, err
	})
	r.submit(engine.Submission{TaskType: "mail"})
	l := r.claim()
	r.settle(l, engine.ResultFailed, &task.Failure{Message: "no"})
	_, err := r.Operate(t.Context(), l.Task.ID, l.Step.ID, engine.StepAct{Kind: engine.ResetForRetry, Actor: "ann", Reason: "mended"})
	r.must(err)
	r.tel.Committed(&engine.Commit{At: noon, Resolved: []engine.CaseResolved{{Reason: "manual_dlq", Status: "cancelled", OpenedAt: noon}}})
	r.tel.Detected(engine.Detection{Took: time.Second, Interval: time.Minute})
	_, _, done := r.tel.WatchRequest(httptest.NewRequest("POST", "/v1/tasks", nil))
	done("POST /v1/tasks", 201)

	out := series{}
	line := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
	for _, text := range scrape(t, r.tel) {
		m := line.FindStringSubmatch(text)
		if m == nil || strings.HasPrefix(text, "#") {
			continue
		}
		if out[m[1]] == nil {
			out[m[1]] = map[string]bool{"job": true, "instance": true} // what Prometheus adds
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			out[m[1]][label[1]] = true
		}
	}
	return out
}

var (
	selector  = regexp.MustCompile(`\b((?:tasker|http_server|process|go)_\w+)(?:\{([^}]*)\})?`)
	labelTest = regexp.MustCompile(`(\w+)(?:=~|!=|=)"`)
	grouping  = regexp.MustCompile(`\b(?:by|without) \(([^)]*)\)`)
)

// has checks that every metric in an expression is there, with the labels that it
// is asked for.
func (s series) has(t *testing.T, what, expr string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		t.Errorf("%s asks for no metric of ours: %s", what, expr)
	}
	for _, m := range found {
		labels, ok := s[m[1]]
		if !ok {
			t.Errorf("%s: /metrics has no %s", what, m[1])
			continue
		}
		wanted := labelTest.FindAllStringSubmatch(m[2], -1)
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.Split(g[1], ", ") {
				wanted = append(wanted, []string{"", label})
			}
		}
		for _, label := range wanted {
			if !labels[label[1]] {
				t.Errorf("%s: %s has no label %s", what, m[1], label[1])
			}
		}
	}
}

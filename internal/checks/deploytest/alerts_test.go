package deploytest_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

const deploy = "../../../deploy"

// ruleFile is the tested part of a rule file.
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

// ruleFiles are the files with alert rules, without ".yml".
var ruleFiles = []string{"alerts", "queue", "letters", "dispatch", "redisqueue"}

func rules(t *testing.T) []rule {
	t.Helper()
	return rulesOf(t, ruleFiles)
}

func rulesOf(t *testing.T, files []string) []rule {
	t.Helper()
	var all []rule
	for _, name := range files {
		raw, err := os.ReadFile(deploy + "/prometheus/" + name + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		var file ruleFile
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		before := len(all)
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
		if len(all) < before+4 {
			t.Fatalf("%d rules were read from %s.yml", len(all)-before, name)
		}
	}
	return all
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	t.Run("AsPublished", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]rule{
			"HighPendingDLQInvestigations": {Expr: "tasker_dlq_pending_investigations > 50", For: "15m",
				Labels: map[string]string{"severity": "warning"}},
			"SlowStalenessDetection": {Expr: "tasker_staleness_detection_duration > 5000", For: "5m",
				Labels: map[string]string{"severity": "warning"}},
			"HighStalenessRate": {Expr: "rate(tasker_staleness_tasks_detected_total[5m]) > 10", For: "10m",
				Labels: map[string]string{"severity": "critical"}},
		} {
			i := slices.IndexFunc(rules(t), func(r rule) bool { return r.Alert == name })
			if i < 0 {
				t.Errorf("there is no rule %s", name)
				continue
			}
			if got := rules(t)[i]; got.Expr != want.Expr || got.For != want.For ||
				got.Labels["severity"] != want.Labels["severity"] {
				t.Errorf("%s is %+v, want %+v", name, got, want)
			}
		}
	})
	t.Run("EachIsTested", func(t *testing.T) {
		t.Parallel()
		var tests []byte
		for _, name := range ruleFiles {
			raw, err := os.ReadFile(deploy + "/prometheus/" + name + "_test.yml")
			if err != nil {
				t.Fatal(err)
			}
			tests = append(tests, raw...)
		}
		for _, r := range rules(t) {
			if !regexp.MustCompile(`alertname: ` + r.Alert + `\n +exp_alerts:\n`).Match(tests) {
				t.Errorf("no test has the rule %s raise an alarm", r.Alert)
			}
		}
	})
	t.Run("Promtool", func(t *testing.T) {
		t.Parallel()
		tool := program(t, "promtool")
		for _, name := range ruleFiles {
			run(t, deploy+"/prometheus", tool, "check", "rules", name+".yml")
			run(t, deploy+"/prometheus", tool, "test", "rules", name+"_test.yml")
		}
	})
	t.Run("MetricsExist", func(t *testing.T) {
		t.Parallel()
		there := everything(t)
		// A test of package redisqueue has the metrics of applications.
		for _, r := range rulesOf(t, []string{"alerts", "queue", "letters", "dispatch"}) {
			there.has(t, "alert "+r.Alert, r.Expr)
		}
	})
}

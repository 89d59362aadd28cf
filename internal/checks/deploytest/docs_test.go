package deploytest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentation: docs/reference/metrics.md has exactly the metrics of /metrics, with their labels.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	there := everything(t)
	documented := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(string(raw), -1) {
		name, kind, labels := m[1], m[2], m[3]
		documented[name] = true
		if kind == "histogram" {
			name += "_count"
		}
		have, ok := there[name]
		if !ok {
			t.Errorf("there is no %s %s", kind, name)
			continue
		}
		n := 2 // job and instance are Prometheus'
		for _, label := range regexp.MustCompile(`\w+`).FindAllString(labels, -1) {
			n++
			if !have[label] {
				t.Errorf("%s has no label %s", name, label)
			}
		}
		if n != len(have) {
			t.Errorf("%s has the labels %v, documented are %s", name, have, labels)
		}
	}
	for name := range there {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		ours := strings.HasPrefix(name, "tasker_") || strings.HasPrefix(name, "hsi_") || strings.HasPrefix(name, "http_")
		if ours && !documented[name] && !documented[base] {
			t.Errorf("docs/reference/metrics.md does not have %s", name)
		}
	}
}

// TestDocumentedNames: the names for OpenTelemetry and Prometheus in docs/reference/metrics.md.
func TestDocumentedNames(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	there := everything(t)
	rows := regexp.MustCompile(
		"(?m)^\\| `(tasker[.][\\w.]+)` \\| (counter|gauge|histogram)[^|]*\\| `(\\w+)` \\|$").FindAllStringSubmatch(
		string(raw), -1)
	if len(rows) != 8 {
		t.Errorf("docs/reference/metrics.md has %d names of OpenTelemetry, want 8", len(rows))
	}
	for _, m := range rows {
		name, kind, exported := m[1], m[2], m[3]
		if !strings.HasPrefix(exported, strings.ReplaceAll(name, ".", "_")) {
			t.Errorf("%s does not become %s", name, exported)
		}
		if kind == "histogram" {
			exported += "_bucket"
		}
		if there[exported] == nil {
			t.Errorf("/metrics has no %s", exported)
		}
	}
}

// TestAlertsHaveRunbooks: every alert has instructions.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/guides/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|]+\\|[^|]+\\|$").FindAllStringSubmatch(string(raw), -1) {
		named[m[1]] = true
	}
	for _, r := range rules(t) {
		if !named[r.Alert] {
			t.Errorf("docs/guides/operations.md does not say what to do about %s", r.Alert)
		}
	}
}

package deploytest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentation holds docs/metrics.md to what /metrics answers: every metric
// is there with its labels, and no other.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/metrics.md")
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
		ours := strings.HasPrefix(name, "tasker_") || strings.HasPrefix(name, "http_")
		if ours && !documented[name] && !documented[base] {
			t.Errorf("docs/metrics.md does not have %s", name)
		}
	}
}

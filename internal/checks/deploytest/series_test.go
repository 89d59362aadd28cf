package deploytest_test

import (
	"regexp"
	"strings"
	"testing"
)

// series are the names in /metrics, with the names of their labels.
type series map[string]map[string]bool

// everything is the /metrics after the story.
func everything(t *testing.T) series {
	t.Helper()
	s := serve(t, openSQLite)
	s.story()
	out := series{}
	line := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
	for _, text := range s.metrics() {
		m := line.FindStringSubmatch(text)
		if m == nil || strings.HasPrefix(text, "#") {
			continue
		}
		if out[m[1]] == nil {
			out[m[1]] = map[string]bool{"job": true, "instance": true} // added by Prometheus
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			out[m[1]][label[1]] = true
		}
	}
	return out
}

var (
	selector  = regexp.MustCompile(`\b((?:tasker|hsi|http_server|process|go)_\w+)(?:\{([^}]*)\})?`)
	labelTest = regexp.MustCompile(`(\w+)(?:=~|!=|=)"`)
	grouping  = regexp.MustCompile(`\b(?:by|without) \(([^)]*)\)`)
)

// has checks that every metric in an expression exists, with its labels.
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

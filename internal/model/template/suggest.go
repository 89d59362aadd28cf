package template

import (
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
)

// synonyms are other systems' keys for our concepts, too different to match by spelling.
var synonyms = map[string]string{
	"depends_on":    "dependencies",
	"requires":      "dependencies",
	"needs":         "dependencies",
	"after":         "dependencies",
	"tags":          "metadata",
	"schema":        "input_schema",
	"inputs":        "input_schema",
	"tasks":         "steps",
	"jobs":          "steps",
	"uses":          "handler",
	"run":           "handler",
	"method":        "callable",
	"class":         "callable",
	"with":          "initialization",
	"config":        "initialization",
	"max_retries":   "max_attempts",
	"limit":         "max_attempts",
	"strategy":      "backoff",
	"backoff_type":  "backoff",
	"initial_delay": "backoff_base_ms",
	"max_delay":     "max_backoff_ms",
	"max_delay_ms":  "max_backoff_ms",
}

// suggest returns the most likely known key, or "". It ignores case and reads "-" as "_". It skips long keys: the
// distance costs the product of the lengths.
func suggest(got string, known []string) string {
	got = strings.ReplaceAll(strings.ToLower(got), "-", "_")
	if len(got) > MaxVersion {
		return ""
	}
	for _, k := range known {
		if k == got || synonyms[got] == k {
			return k
		}
	}
	if near := wording.Nearest(got, known, max(1, len(got)/3)); near != "" {
		return near
	}
	if len(got) < 4 {
		return ""
	}
	for _, k := range known { // "timeout" for timeout_seconds
		if strings.Contains(k, got) {
			return k
		}
	}
	for _, k := range known { // "step_name" for name
		if strings.Contains(got, k) {
			return k
		}
	}
	return ""
}

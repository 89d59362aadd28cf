package template

import "strings"

// synonyms are keys that other systems use for what we have under another name,
// too far apart for the spelling to give it away.
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

// suggest returns the known key that the author most likely meant, or "".
func suggest(got string, known []string) string {
	got = strings.ReplaceAll(strings.ToLower(got), "-", "_")
	if len(got) > MaxVersion {
		return ""
	}
	best, distance := "", max(1, len(got)/3)+1
	for _, k := range known {
		if k == got || synonyms[got] == k {
			return k
		}
		if d := edits(got, k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return best
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

// edits is the Levenshtein distance, with a swap of neighbours as one edit.
func edits(a, b string) int {
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}

package archtest_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// features are the rows and columns of docs/concepts/pairs.md, with the words that identify each in a script or a test.
var features = []struct {
	name  string
	words *regexp.Regexp
}{
	{"retry", regexp.MustCompile(`\bfail |retr(y|ies)|max_attempts`)},
	{"deadline", regexp.MustCompile(`deadline|max_duration`)},
	{"staleness", regexp.MustCompile(`\bdetect|stale`)},
	{"pause", regexp.MustCompile(`\bpaused?\b`)},
	{"limit", regexp.MustCompile(`\blimit|concurrency: \{|rate_limit`)},
	{"ordering", regexp.MustCompile(`order=|ordering`)},
	{"unique", regexp.MustCompile(`unique`)},
	{"idempotency", regexp.MustCompile(`\bkey=\w|idempoten|fired`)},
	{"condition", regexp.MustCompile(`when: |condition`)},
	{"wait", regexp.MustCompile(`wait: \{|wait:`)},
	{"signal", regexp.MustCompile(`signal`)},
	{"approval", regexp.MustCompile(`approv`)},
	{"child tasks", regexp.MustCompile(`for_each|task: \{|child`)},
	{"compensation", regexp.MustCompile(`on_failure|compensat`)},
	{"checkpoint", regexp.MustCompile(`checkpoint`)},
	{"large result", regexp.MustCompile(`large`)},
	{"encryption", regexp.MustCompile(`sensitive|sealed|encrypt`)},
	{"outage", regexp.MustCompile(`outage`)},
	{"schedule", regexp.MustCompile(`\bschedule|cron`)},
	{"replay", regexp.MustCompile(`\breplay`)},
	{"edit", regexp.MustCompile(`\bedit`)},
	{"cancel", regexp.MustCompile(`cancel`)},
	{"retention", regexp.MustCompile(`retain|retention|delete`)},
	{"copy", regexp.MustCompile(`\bcop(y|ied)`)},
	{"restore", regexp.MustCompile(`restore`)},
}

// evidence is scripts, and files of tests and of the store suite's cases, by name, in lower case.
type evidence map[string][]string

var testNames = regexp.MustCompile(`(?m)^func (Test\w+)\(|\{"(\w+)", \w+\}`)

func readEvidence(t *testing.T) evidence {
	t.Helper()
	e := evidence{}
	files(t, ".go", func(file string, content []byte) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/storetest/") {
			for _, m := range testNames.FindAllStringSubmatch(string(content), -1) {
				e[m[1]+m[2]] = append(e[m[1]+m[2]], strings.ToLower(string(content)))
			}
		}
	})
	files(t, ".txt", func(file string, content []byte) {
		if strings.Contains(file, "internal/engine/scenario/testdata/") {
			name := strings.TrimSuffix(path.Base(file), ".txt")
			e[name] = append(e[name], strings.ToLower(string(content)))
		}
	})
	return e
}

// check reports missing names in a cell, evidence without both features, and empty reasons.
func (e evidence) check(t *testing.T, cell string, a, b int) {
	t.Helper()
	pair := features[a].name + " with " + features[b].name
	names := quoted.FindAllStringSubmatch(cell, -1)
	if names == nil && len(strings.Fields(cell)) < 5 {
		t.Errorf("docs/concepts/pairs.md: %s: %q names nothing, and is no reason", pair, cell)
	}
	for _, m := range names {
		if !slices.ContainsFunc(e[m[1]], func(text string) bool {
			return features[a].words.MatchString(text) && features[b].words.MatchString(text)
		}) {
			t.Errorf("docs/concepts/pairs.md: %s: there is no script, test or case %s that has both", pair, m[1])
		}
	}
}

// TestPairs: every two features are in the table of the first one, with evidence or a reason why nothing can happen.
func TestPairs(t *testing.T) {
	t.Parallel()
	index := map[string]int{}
	for i, f := range features {
		index[f.name] = i
	}
	e, seen := readEvidence(t), map[[2]int]bool{}
	for part := range strings.SplitSeq(read(t, "docs/concepts/pairs.md"), "\n## ") {
		title, table, _ := strings.Cut(part, "\n")
		a, known := index[strings.ToLower(title)]
		if !known {
			continue // the introduction, or an unknown title: its pairs are missing below
		}
		for line := range strings.SplitSeq(table, "\n") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if len(cells) != 2 || cells[0] == "with" {
				continue
			}
			for with := range strings.SplitSeq(cells[0], ", ") {
				b, known := index[with]
				if with == "itself" {
					b, known = a, true
				}
				if !known || b < a || seen[[2]int{a, b}] {
					t.Errorf("docs/concepts/pairs.md: %s has a line for %q, which is unknown, in another table, or there twice",
						title, with)
					continue
				}
				seen[[2]int{a, b}] = true
				e.check(t, cells[1], a, b)
			}
		}
	}
	for a := range features {
		for b := a; b < len(features); b++ {
			if !seen[[2]int{a, b}] {
				t.Errorf("docs/concepts/pairs.md says nothing about %s with %s", features[a].name, features[b].name)
			}
		}
	}
}

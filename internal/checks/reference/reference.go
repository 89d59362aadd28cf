// Package reference compares the generated parts of the documentation with the code. Only tests use it.
package reference

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of a page around its generated part.
const (
	begin = "<!-- generated: see the test that names this page -->\n"
	end   = "<!-- end of the generated part -->\n"
)

// Check compares the generated part of a page below docs/reference with text. With the flag -update, which the test's
// package defines, it writes the text there.
func Check(t testing.TB, page, text string) {
	t.Helper()
	file := filepath.Join(top(t), "docs", "reference", page)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	intro, rest, ok := strings.Cut(string(raw), begin)
	old, outro, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/reference/%s has no generated part, between the lines\n%s%s", page, begin, end)
	}
	text = "\n" + strings.TrimSpace(text) + "\n\n"
	if old == text {
		return
	}
	if f := flag.Lookup("update"); f == nil || f.Value.String() != "true" {
		t.Errorf("docs/reference/%s is not what the code says; run go test with -run %s -update\n%s", page, t.Name(),
			firstDifference(old, text))
		return
	}
	if err := os.WriteFile(file, []byte(intro+begin+text+end+outro), 0o644); err != nil { //nolint:gosec // public
		t.Fatal(err)
	}
}

func firstDifference(old, text string) string {
	a, b := strings.Split(old, "\n"), strings.Split(text, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return "+ " + b[i]
		case i >= len(b):
			return "- " + a[i]
		case a[i] != b[i]:
			return "- " + a[i] + "\n+ " + b[i]
		}
	}
	return ""
}

func top(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "docs", "reference")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no docs/reference above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Table writes a Markdown table. It escapes bars in cells, and replaces line ends by spaces.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.TrimSpace(cell.Replace(c)) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

var cell = strings.NewReplacer("|", "\\|", "\n", " ")

// Code marks words as code, nothing if there are none.
func Code(words ...string) string {
	var marked []string
	for _, w := range words {
		if w != "" {
			marked = append(marked, "`"+w+"`")
		}
	}
	return strings.Join(marked, ", ")
}

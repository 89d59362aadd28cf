package archtest_test

import (
	"bytes"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLines bounds a Go file, tests included. A longer file has two subjects; split it by noun, and a test by behaviour.
const maxLines = 600

func TestFilesStaySmall(t *testing.T) {
	t.Parallel()
	files(t, ".go", func(path string, content []byte) {
		if n := bytes.Count(content, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines: past %d a file has two subjects", path, n, maxLines)
		}
	})
}

// TestPackageDocs requires one package comment per package, in godoc's form.
func TestPackageDocs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			t.Errorf("%s has no file that could say what it is for", p.short())
			continue
		}
		var docs []string
		eachFile(t, p.short(), func(file string, f *ast.File) {
			if f.Doc == nil {
				return
			}
			docs = append(docs, file)
			want := "Package " + p.Name + " "
			if p.Name == "main" {
				want = "Command " + p.short()[strings.LastIndexByte(p.short(), '/')+1:] + " "
			}
			if !strings.HasPrefix(f.Doc.Text(), want) {
				t.Errorf("%s: the package comment must begin with %q", file, want)
			}
		})
		if len(docs) != 1 {
			t.Errorf("%s has %d package comments %v, not one", p.short(), len(docs), docs)
		}
	}
}

// vague are names of packages that say nothing about the content.
var vague = []string{"util", "utils", "helper", "helpers", "common", "base", "types", "models", "misc", "pkg", "shared"}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, v := range vague {
			if p.Name == v || strings.HasSuffix(p.Name, v) && len(v) > 4 {
				t.Errorf("%s: %q does not say what the package does; everything ends up in such a one", p.short(), p.Name)
			}
		}
	}
}

// limit is the number of characters of a line.
const limit = 120

// aligned is what gofmt puts in to align columns.
var aligned = regexp.MustCompile(` {2,}`)

// TestGoLines excludes struct tags and raw strings, which Go cannot break.
func TestGoLines(t *testing.T) {
	t.Parallel()
	files(t, ".go", func(file string, content []byte) {
		raw, number := false, 0
		for line := range strings.Lines(string(content)) {
			number++
			quotes := strings.Count(line, "`")
			inside := raw || quotes > 0
			raw = raw != (quotes%2 == 1)
			unbreakable := func(word string) bool { return len(word) > limit/2 } // an address
			if inside || strings.Contains(line, "//nolint:") || slices.ContainsFunc(strings.Fields(line), unbreakable) {
				continue
			}
			if n := utf8.RuneCountInString(aligned.ReplaceAllString(strings.TrimRight(line, "\n"), " ")); n > limit {
				t.Errorf("%s:%d has %d characters; the limit is %d", file, number, n, limit)
			}
		}
	})
}

// TestSchemaLines: the schema is read, not generated.
func TestSchemaLines(t *testing.T) {
	t.Parallel()
	files(t, ".sql", func(file string, content []byte) {
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if n := utf8.RuneCountInString(line) - 1; n > limit && strings.Contains(file, "/schema/") {
				t.Errorf("%s:%d has %d characters; the limit is %d", file, number, n, limit)
			}
		}
	})
}

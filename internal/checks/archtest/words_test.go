package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// plain says what to write instead of phrases that hide the actor or read as translated. They are refused in comments
// and in the prose of documents.
var plain = []struct {
	phrase *regexp.Regexp
	write  string
}{
	{regexp.MustCompile(`(?i)\bin place of\b`), "instead of"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "forever, or: without end"},
	{regexp.MustCompile(`(?i)\bof (its|their|his|her) own($|[.,;:)]| (and|or|in|with|that|which|for|to|by|from|is|are|has|have|` +
		`does|than|as|at|on|when|if)\b)`), "its own, separate, or nothing"},
	{regexp.MustCompile(`(?i)\bsaid of\b`), "the definition itself"},
	{regexp.MustCompile(`(?i)\bgoes on\b`), "continues"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "the actor: the caller, an operator, a node"},
	{regexp.MustCompile(`(?i)\bthose who\b`), "the actors: callers, operators, users"},
	{regexp.MustCompile(`(?i)\b(is|are) told\b`), "is called with, receives, learns"},
	{regexp.MustCompile(`(?i)\bthereof\b`), "of it"},
}

func refusePhrases(t *testing.T, where, text string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, p := range plain {
		if found := p.phrase.FindString(text); found != "" {
			i := strings.Index(text, found)
			t.Errorf("%s: %q in %q: write %s", where, found, text[max(0, i-30):min(len(text), i+40)], p.write)
		}
	}
}

// TestPlainWords keeps phrases out of comments and documents that make a reader look for the actor.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	files(t, ".go", func(file string, content []byte) {
		if file == "internal/checks/archtest/words_test.go" || strings.Contains(file, "/testdata/") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			if !ast.IsGenerated(f) {
				refusePhrases(t, set.Position(group.Pos()).String(), group.Text())
			}
		}
	})
	files(t, ".md", func(file string, content []byte) {
		for i, part := range strings.Split(string(content), "```") {
			if i%2 == 0 {
				refusePhrases(t, file, part)
			}
		}
	})
}

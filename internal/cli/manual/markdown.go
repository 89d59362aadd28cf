package manual

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// HTML in pages is dropped.
type markdown struct{ goldmark.Markdown }

func newMarkdown() markdown {
	return markdown{goldmark.New(
		goldmark.WithExtensions(extension.Linkify,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
}

// Headings have the fragments of links to them.
func (m markdown) convert(source []byte, w io.Writer) error {
	return m.Convert(source, w, parser.WithContext(parser.NewContext(parser.WithIDs(Fragments{}))))
}

// Fragments makes the fragments of one page's headings, as GitHub does.
type Fragments map[string]bool

// Generate returns the fragment of a heading.
func (f Fragments) Generate(heading []byte, _ ast.NodeKind) []byte {
	base := Slug(string(heading))
	unique := base
	for n := 1; f[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", base, n)
	}
	f[unique] = true
	return []byte(unique)
}

// Put adds a page's explicit fragment.
func (f Fragments) Put(fragment []byte) { f[string(fragment)] = true }

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Slug returns the fragment of the first heading with this title: letters, digits, hyphens and underscores, in
// lower case.
func Slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, linkText.ReplaceAllString(strings.TrimSpace(title), "$1"))
}

// cells are the bars of a row, with empty cells between them.
var cells = regexp.MustCompile(`( *\| )+`)

func plain(line string) string {
	line = linkText.ReplaceAllString(line, "$1")
	if row := strings.Trim(line, "|- "); strings.HasPrefix(line, "|") { // of a table
		line = cells.ReplaceAllString(row, ": ")
	}
	return strings.Trim(strings.NewReplacer("`", "", "**", "", "*", "", "\\|", "|").Replace(line), "# ")
}

func title(source string) string {
	for line := range strings.Lines(source) {
		if t, ok := strings.CutPrefix(line, "# "); ok {
			return plain(strings.TrimSpace(t))
		}
	}
	return "Documentation"
}

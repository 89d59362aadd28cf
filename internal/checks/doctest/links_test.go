package doctest_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/manual"
)

// TestLinks follows every link of every Markdown file to a file of the repository and its heading. For other hosts it
// checks the syntax only: tests need no network.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := markdown(t)
	for page, text := range pages {
		for _, link := range links(text) {
			if err := follow(pages, page, link); err != nil {
				t.Errorf("%s links to %s: %v", page, link, err)
			}
		}
	}
}

// TestEveryPageIsReachable from docs/README.md. A link to a folder leads to all pages in it.
func TestEveryPageIsReachable(t *testing.T) {
	t.Parallel()
	pages := markdown(t)
	reached := map[string]bool{}
	var reach func(page string)
	reach = func(page string) {
		if reached[page] {
			return
		}
		reached[page] = true
		for _, link := range links(pages[page]) {
			target, _, _ := strings.Cut(link, "#")
			target = path.Join(path.Dir(page), target)
			for other := range pages {
				if other == target || path.Dir(other) == target {
					reach(other)
				}
			}
		}
	}
	reach("docs/README.md")
	for page := range pages {
		if strings.HasPrefix(page, "docs/") && !reached[page] {
			t.Errorf("no links lead from docs/README.md to %s", page)
		}
	}
}

// TestIndexSaysWhatPagesAreFor: docs/README.md has each page in the list of its folder, with a sentence.
func TestIndexSaysWhatPagesAreFor(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	for page := range markdown(t) {
		name, ok := strings.CutPrefix(page, "docs/")
		if !ok || !strings.Contains(name, "/") || strings.HasPrefix(name, "design/") {
			continue
		}
		line := regexp.MustCompile(`(?m)^- \[[^\]]+\]\(` + regexp.QuoteMeta(name) + `\): \S`)
		if !line.MatchString(index) {
			t.Errorf("docs/README.md has no line like - [Title](%s): What the page is for.", name)
		}
	}
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	text := "# A `/v1` heading: with_words, [linked](x.md)\n```sh\n# not one\n```\n## Größe\n### Again\n### Again\nTitle\n=====\n"
	got := fragments(text)
	for _, want := range []string{"a-v1-heading-with_words-linked", "größe", "again", "again-1"} {
		if !got[want] {
			t.Errorf("no fragment %s in %v", want, got)
		}
	}
	if got["not-one"] {
		t.Error("a comment in a block of code is taken for a heading")
	}
}

func markdown(t *testing.T) map[string]string {
	t.Helper()
	const top = "../../.."
	pages := map[string]string{}
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".md"):
			return nil
		}
		raw, err := os.ReadFile(file)
		pages[filepath.ToSlash(strings.TrimPrefix(file, top+string(filepath.Separator)))] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 90 {
		t.Fatalf("found only %d Markdown files", len(pages))
	}
	return pages
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan   = regexp.MustCompile("`[^`\n]+`")
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)|(?m:^\[[^\]]+\]: +(\S+))|<(?:a|img)\b[^>]* (?:href|src)="([^"]*)"`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
)

// links returns the targets of a page's links and images. A call of a generic function in code looks like a link.
func links(text string) []string {
	var list []string
	prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, m := range linkTarget.FindAllStringSubmatch(prose, -1) {
		list = append(list, m[1]+m[2]+m[3])
	}
	return list
}

// follow returns why a link is broken.
func follow(pages map[string]string, page, link string) error {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return err
	case u.Scheme == "http" || u.Scheme == "https":
		if u.Host == "" {
			return fmt.Errorf("it has no host")
		}
		return nil
	case u.Scheme == "mailto":
		return nil
	case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/"):
		return fmt.Errorf("only relative links and links to a web page are followed")
	}
	target := page
	if u.Path != "" {
		target = path.Join(path.Dir(page), u.Path)
	}
	if _, err := os.Stat(filepath.Join("../../..", target)); err != nil || strings.HasPrefix(target, "../") {
		return fmt.Errorf("there is no such file")
	}
	if u.Fragment != "" && !fragments(pages[target])[u.Fragment] {
		return fmt.Errorf("%s has no heading for the fragment", target)
	}
	return nil
}

// fragments returns the fragments of a page's headings, in GitHub's form.
func fragments(text string) map[string]bool {
	all := manual.Fragments{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		all.Generate([]byte(m[1]), 0)
	}
	return all
}

package manual

import (
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

type group struct {
	Title string
	Pages []entry
}

// entry is a page in the index, or a label without a path.
type entry struct{ Title, Path, About string }

var line = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)#]+)\): (.+)$`)

// index reads the groups from README.md, the one place of the order.
func (m *manual) index() ([]group, error) {
	source, err := fs.ReadFile(m.files, "README.md")
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	var groups []group
	for text := range strings.Lines(string(source)) {
		text = strings.TrimSpace(text)
		title, heading := strings.CutPrefix(text, "## ")
		switch found := line.FindStringSubmatch(text); {
		case heading:
			groups = append(groups, group{Title: title})
		case len(groups) == 0:
		case found != nil:
			last := &groups[len(groups)-1]
			last.Pages = append(last.Pages, entry{plain(found[1]), found[2], plain(found[3])})
		case strings.HasSuffix(text, ":"):
			last := &groups[len(groups)-1]
			last.Pages = append(last.Pages, entry{Title: strings.TrimSuffix(text, ":")})
		}
	}
	return groups, nil
}

// section is a heading and its text.
type section struct {
	Path, Page, Title, Fragment string
	Level                       int
	lines                       []string
	lower                       string // in lower case, for the search
}

func (m *manual) split() ([]section, error) {
	var all []section
	err := fs.WalkDir(m.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		source, err := fs.ReadFile(m.files, name)
		if err != nil {
			return err
		}
		page, fragments, code := title(string(source)), Fragments{}, false
		for text := range strings.Lines(string(source)) {
			text = strings.TrimRight(text, "\n")
			code = code != strings.HasPrefix(strings.TrimSpace(text), "```")
			level := strings.IndexFunc(text, func(r rune) bool { return r != '#' })
			if !code && level > 0 && level <= 6 && text[level] == ' ' {
				heading := strings.TrimSpace(text[level:])
				all = append(all, section{Path: name, Page: page, Title: plain(heading), Level: level,
					Fragment: string(fragments.Generate([]byte(heading), 0))})
			} else if len(all) > 0 && all[len(all)-1].Path == name {
				s := &all[len(all)-1]
				s.lines = append(s.lines, text)
			}
		}
		return nil
	})
	for i := range all {
		all[i].lower = strings.ToLower(all[i].Title + "\n" + strings.Join(all[i].lines, "\n"))
	}
	return all, err
}

type hit struct {
	section
	Snippet string
	score   int
}

const (
	maxHits  = 40
	maxQuery = 200
)

// search finds the sections with all words; words in titles count most.
func (m *manual) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	words := strings.Fields(strings.ToLower(query))
	var found []hit
	for _, s := range m.sections {
		if h := (hit{section: s}); len(words) > 0 && h.rank(words) {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b hit) int { return b.score - a.score })
	m.show(w, http.StatusOK, view{Title: "Search", Query: query, Found: found[:min(len(found), maxHits)]})
}

// rank scores a section, takes the first matching line as snippet, and reports whether all words match.
func (h *hit) rank(words []string) bool {
	title, page := strings.ToLower(h.Title), strings.ToLower(h.Page)
	for _, word := range words {
		if !strings.Contains(h.lower, word) && !strings.Contains(page, word) {
			return false
		}
		h.score += min(strings.Count(h.lower, word), 5)
		if strings.Contains(title, word) {
			h.score += 20
		}
		if strings.Contains(page, word) {
			h.score += 10
		}
	}
	if strings.HasPrefix(h.Path, "design/") { // decisions rank lower
		h.score -= 15
	}
	for _, text := range h.lines {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(text), word) }) {
			h.Snippet = short(plain(text))
			return true
		}
	}
	h.Snippet = h.first()
	return true
}

func (s section) first() string {
	for _, text := range s.lines {
		if text = plain(text); text != "" {
			return short(text)
		}
	}
	return ""
}

func short(text string) string {
	const most = 160
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

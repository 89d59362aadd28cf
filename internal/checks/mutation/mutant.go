package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is one changed operator, identified by the text of its line, which moves.
type mutant struct {
	file     string // seen from the top
	kind     string // gremlins' name of the change
	operator string
	line     string
}

// String is a mutant's form on the page.
func (m mutant) String() string {
	return fmt.Sprintf("- `%s` %s of `%s` in `%s`:", m.file, m.kind, m.operator, m.line)
}

// entry matches such a line of the page; the explanation follows the colon.
var entry = regexp.MustCompile("(?m)^- `([^`]+)` ([A-Z_]+) of `([^`]+)` in\\s+`([^`]+)`:")

// parse reads the explained mutants of a page.
func parse(page string) []mutant {
	var out []mutant
	for _, m := range entry.FindAllStringSubmatch(page, -1) {
		out = append(out, mutant{m[1], m[2], m[3], m[4]})
	}
	return out
}

// report is gremlins' report of one package.
type report struct {
	dir   string
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"mutations"`
	} `json:"files"`
}

// noticed are the failing ends of a test run. A mutant that loops without end is stopped after twenty times the time of
// the tests.
var noticed = map[string]bool{"KILLED": true, "TIMED OUT": true, "NOT VIABLE": true}

// summary counts the mutants by their end. NOT VIABLE, a mutant that does not compile, counts as killed.
func (r *report) summary() string {
	count := map[string]int{}
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			count[m.Status]++
		}
	}
	return fmt.Sprintf("%d killed, %d timed out, %d lived, %d not covered",
		count["KILLED"]+count["NOT VIABLE"], count["TIMED OUT"], count["LIVED"], count["NOT COVERED"])
}

// lived lists unnoticed mutants. It reads the text of the line from the source, since gremlins gives only the number.
func (r *report) lived() ([]mutant, error) {
	var out []mutant
	for _, f := range r.Files {
		file := filepath.ToSlash(filepath.Join(r.dir, filepath.Base(f.Name)))
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the source of a mutant: %w", err)
		}
		lines := strings.Split(string(source), "\n")
		for _, m := range f.Mutations {
			if noticed[m.Status] {
				continue
			}
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
				return nil, fmt.Errorf("%s has no line %d, column %d", file, m.Line, m.Column)
			}
			line := lines[m.Line-1]
			out = append(out, mutant{file, m.Type, operator(line[m.Column-1:]), strings.TrimSpace(line)})
		}
	}
	return out, nil
}

// operator returns the operator at the beginning of a text, or "".
func operator(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "<>=!+-*/%&|^"))] }

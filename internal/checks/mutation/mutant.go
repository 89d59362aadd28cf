package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is one changed operator. It is known by the text of its line, which moves.
type mutant struct {
	file     string // seen from the top
	kind     string // what gremlins calls the change
	operator string
	line     string
}

// String is the form in which the page lists a mutant.
func (m mutant) String() string {
	return fmt.Sprintf("- `%s` %s of `%s` in `%s`:", m.file, m.kind, m.operator, m.line)
}

// entry matches one such line of the page; the explanation follows the colon.
var entry = regexp.MustCompile("(?m)^- `([^`]+)` ([A-Z_]+) of `([^`]+)` in\\s+`([^`]+)`:")

// parse reads the mutants that a page explains.
// Other text of the page is ignored.
func parse(page string) []mutant {
	var out []mutant
	for _, m := range entry.FindAllStringSubmatch(page, -1) {
		out = append(out, mutant{m[1], m[2], m[3], m[4]})
	}
	return out
}

// report is what gremlins says of one package.
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

// noticed are the ends of a test run that say that something is wrong. A mutant that
// loops without end is stopped after twenty times the time of the tests.
var noticed = map[string]bool{"KILLED": true, "TIMED OUT": true, "NOT VIABLE": true}

// summary counts the mutants by how they ended.
// NOT VIABLE, a mutant that does not compile, counts as killed.
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

// lived lists the mutants that no test has noticed.
// The text of the line is read from the source, since gremlins gives its number only.
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

// operator returns the operator that a text begins with.
// A text that begins with no operator gives "".
func operator(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "<>=!+-*/%&|^"))] }

package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/task"
)

type problem struct {
	at      document.Position
	message string
}

// problems keeps ten times as many as it shows, because sorting by place decides which come first.
type problems struct {
	filename string
	found    []problem
}

// newProblems makes the untrusted filename safe to print. It opens no file.
func newProblems(filename string) *problems {
	filename = cmp.Or(filename, "template")
	return &problems{filename: strings.Map(printable, filename)}
}

// printable replaces characters that terminals or logs act on.
func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return unicode.ReplacementChar
	}
	return r
}

// report adds a problem once, although an aliased node is read many times. It is linear in the bounded number of
// problems.
func (p *problems) report(at document.Position, format string, args ...any) {
	one := problem{at, fmt.Sprintf(format, args...)}
	if len(p.found) < maxProblems*10 && !slices.Contains(p.found, one) {
		p.found = append(p.found, one)
	}
}

// err returns all problems in source order as one task.Invalid, or nil.
func (p *problems) err() error {
	n := len(p.found)
	if n == 0 {
		return nil
	}
	slices.SortStableFunc(p.found, func(a, b problem) int {
		switch {
		case a.at.Before(b.at):
			return -1
		case b.at.Before(a.at):
			return 1
		default:
			return 0
		}
	})
	e := task.Errorf(task.Invalid, "the template has %d problems", n)
	if n == 1 {
		e.Message = "the template has a problem"
	}
	for i, one := range p.found {
		if i == maxProblems {
			e.Hint = fmt.Sprintf("Only the first %d problems are shown.", maxProblems)
			break
		}
		location := fmt.Sprintf("%s:%d:%d", p.filename, one.at.Line, one.at.Column)
		e.Problems = append(e.Problems, task.Problem{Location: location, Message: one.message})
	}
	return e
}

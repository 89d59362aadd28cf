package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/cli/terminal"
)

// usualWidth is the width of a terminal that does not tell its own, and the one that help is written for.
const usualWidth = 80

// copied are the columns whose values are arguments of other commands. A table never breaks them.
var copied = []string{
	"TASK", "CASE", "LETTER", "GROUP", "REDRIVE", "REPLAY", "OUTAGE", "SIGNAL", "EVENT", "ID", "HOURS",
}

// columns returns the width that tables fit, 0 for no limit. What is piped into another program has none, as with
// kubectl and gh: a program finds a row on one line with all its columns. COLUMNS, which shells set and do not export,
// overrides both.
func (s *session) columns() int {
	if n, err := strconv.Atoi(s.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if s.Terminal {
		return cmp.Or(s.Columns, usualWidth)
	}
	return 0
}

// table collects rows in columns under a header. Nothing is written before flush.
type table struct {
	s     *session
	grid  *terminal.Table
	notes []string // printed behind the table
}

// newTable starts a table. A column whose name is in copied stays whole; the others shrink, and then go, from the
// right.
func (s *session) newTable(header ...string) *table {
	t := &table{s: s, grid: terminal.NewTable(s.columns(), header...)}
	t.grid.Whole(copied...)
	if s.colored(s.Terminal) {
		t.grid.Style = paintCell
	}
	return t
}

// dropFirst names the columns that are the first to go on a narrow terminal, the least important first.
func (t *table) dropFirst(columns ...string) { t.grid.DropFirst(columns...) }

// whole marks further columns that stay whole.
func (t *table) whole(columns ...string) { t.grid.Whole(columns...) }

// row adds a row with one cell per column of the header. It cleans the cells in place.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	t.grid.Row(cells...)
}

// damaged adds a note below the table about a row whose stored data could not be read completely. It does nothing if
// damage is "".
func (t *table) damaged(id, damage string) {
	if damage != "" {
		t.notes = append(t.notes, fmt.Sprintf("Damaged: %s: %s", clean(id), clean(damage)))
	}
}

// flush writes the table and its notes.
func (t *table) flush() error {
	text, hidden := t.grid.Render()
	if len(hidden) > 0 {
		t.notes = append(t.notes, "Left out, for want of room: "+strings.Join(hidden, ", ")+
			". A wider terminal and -o json have them.")
	}
	if len(t.notes) > 0 {
		text += "\n"
	}
	for _, note := range t.notes {
		text += t.s.wrapped(note) + "\n"
	}
	return t.s.page([]byte(text))
}

// wrapped wraps a text that has been cleaned at the width of the terminal.
func (s *session) wrapped(text string) string {
	if n := s.columns(); n > 0 {
		return terminal.Reflow(text, n)
	}
	return text
}

package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/cli/terminal"
)

// usualWidth is the width of help and of terminals of unknown width.
const usualWidth = 80

// copied columns have arguments for other commands, which are never broken.
var copied = []string{
	"TASK", "CASE", "LETTER", "GROUP", "REDRIVE", "REPLAY", "OUTAGE", "SIGNAL", "EVENT", "ID", "HOURS",
}

// columns returns the width of tables, 0 for unlimited, as in pipes, so that programs find whole rows on one line.
// COLUMNS, which shells do not export, overrides both.
func (s *session) columns() int {
	if n, err := strconv.Atoi(s.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if s.Terminal {
		return cmp.Or(s.Columns, usualWidth)
	}
	return 0
}

// table collects rows until flush.
type table struct {
	s     *session
	grid  *terminal.Table
	rows  int
	none  string   // of newList
	notes []string // printed behind the table
}

// newTable keeps copied columns whole; the others shrink and then disappear from the right.
func (s *session) newTable(header ...string) *table {
	t := &table{s: s, grid: terminal.NewTable(s.columns(), header...)}
	t.grid.Whole(copied...)
	if s.colored(s.Terminal) {
		t.grid.Style = paintCell
	}
	return t
}

// newList is newTable for a list; without rows it prints a sentence.
func (s *session) newList(none string, header ...string) *table {
	t := s.newTable(header...)
	t.none = none
	return t
}

// dropFirst names the first columns to disappear, the least important first.
func (t *table) dropFirst(columns ...string) { t.grid.DropFirst(columns...) }

func (t *table) whole(columns ...string) { t.grid.Whole(columns...) }

// row cleans its cells in place.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	t.grid.Row(cells...)
	t.rows++
}

// damaged adds a note about incompletely read data; nothing for "".
func (t *table) damaged(id, damage string) {
	if damage != "" {
		t.notes = append(t.notes, fmt.Sprintf("Damaged: %s: %s", clean(id), clean(damage)))
	}
}

func (t *table) flush() error {
	if t.rows == 0 && t.none != "" {
		return t.s.printf("%s\n", t.none)
	}
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

// flushPage adds the flag that continues the list.
func (t *table) flushPage(cursor string) error {
	if err := t.flush(); err != nil || t.rows == 0 {
		return err
	}
	return t.s.nextCursor(cursor)
}

func (s *session) wrapped(text string) string {
	if n := s.columns(); n > 0 {
		return terminal.Reflow(text, n)
	}
	return text
}

package terminal

import (
	"slices"
	"strings"
)

const (
	gap = 2 // between two columns
	// Least widths of columns that may be broken.
	minText = 20
	minName = 12
)

// Table has rows of cells below a header.
type Table struct {
	// Columns is the width to fit; 0 or less is unlimited, one line per row.
	Columns int
	// Style decorates a laid-out cell with escape sequences of no width; nil is plain.
	Style func(column, value, laidOut string) string

	header  []string
	rows    [][]string
	whole   []bool   // of each column: never broken
	dropped []string // the least important first
}

// NewTable starts a table with distinct column names.
func NewTable(columns int, header ...string) *Table {
	return &Table{Columns: columns, header: header, whole: make([]bool, len(header))}
}

// Whole marks columns that are never broken, because users copy them.
func (t *Table) Whole(columns ...string) {
	for i, name := range t.header {
		t.whole[i] = t.whole[i] || slices.Contains(columns, name)
	}
}

// DropFirst names the first columns to disappear, the least important first; then the others from the right, except
// the first column.
func (t *Table) DropFirst(columns ...string) { t.dropped = columns }

// Row adds a row with one cell for each column.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Render returns the lines, and the columns without room. If not even the first column and the Whole ones fit, each
// row becomes a block with all columns.
func (t *Table) Render() (text string, hidden []string) {
	natural := t.natural()
	if t.Columns <= 0 || total(natural) <= t.Columns {
		return t.grid(natural), nil
	}
	shown := make([]bool, len(t.header))
	for i := range shown {
		shown[i] = true
	}
	order, gone := t.order(), 0
	widths, ok := t.fit(natural, shown)
	for ; !ok && gone < len(order); gone++ {
		shown[order[gone]] = false
		widths, ok = t.fit(natural, shown)
	}
	if !ok {
		return t.blocks(), nil
	}
	// A wide column that went last may leave room for earlier ones.
	for i := gone - 1; i >= 0; i-- {
		shown[order[i]] = true
		if wider, fits := t.fit(natural, shown); fits {
			widths = wider
			continue
		}
		shown[order[i]] = false
	}
	return t.grid(widths), t.missing(shown)
}

// missing lists hidden columns with values.
func (t *Table) missing(shown []bool) (names []string) {
	for i, name := range t.header {
		if !shown[i] && !t.empty(i) {
			names = append(names, name)
		}
	}
	return names
}

func (t *Table) empty(column int) bool {
	return !slices.ContainsFunc(t.rows, func(row []string) bool { return row[column] != "" && row[column] != "-" })
}

func (t *Table) natural() []int {
	widths := make([]int, len(t.header))
	for i, h := range t.header {
		widths[i] = Width(h)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], Width(c))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := -gap
	for _, w := range widths {
		if w > 0 {
			sum += w + gap
		}
	}
	return sum
}

// order lists the droppable columns: empty ones, those of DropFirst, the others from the right.
func (t *Table) order() []int {
	var order []int
	add := func(i int) {
		if i >= 0 && !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	for i := len(t.header) - 1; i > 0; i-- {
		if t.empty(i) {
			add(i)
		}
	}
	for _, name := range t.dropped {
		add(slices.Index(t.header, name))
	}
	for i := len(t.header) - 1; i > 0; i-- {
		if !t.whole[i] {
			add(i)
		}
	}
	return order
}

// fit returns the widths of the shown columns, if they fit. Breakable columns share the rest: each has its least
// width, then the narrowest get their needs first.
func (t *Table) fit(natural []int, shown []bool) (widths []int, ok bool) {
	widths = make([]int, len(natural))
	for i, n := range natural {
		if shown[i] {
			widths[i] = min(n, t.least(i, n))
		}
	}
	free := t.Columns - total(widths)
	if free < 0 {
		return nil, false
	}
	for free > 0 {
		narrowest := -1
		for i, w := range widths {
			if w > 0 && w < natural[i] && (narrowest < 0 || w < widths[narrowest]) {
				narrowest = i
			}
		}
		if narrowest < 0 {
			break
		}
		widths[narrowest]++
		free--
	}
	return widths, true
}

// least is the least sensible width. Values without spaces, such as a name or a time, are only broken if long.
func (t *Table) least(column, natural int) int {
	if t.whole[column] {
		return natural
	}
	least := Width(t.header[column])
	for _, row := range t.rows {
		value := row[column]
		floor := minText
		if !strings.Contains(value, " ") {
			floor = max(minName, min(Width(value), minText))
		}
		least = max(least, min(Width(value), floor))
	}
	return least
}

// Columns of width 0 are hidden.
func (t *Table) grid(widths []int) string {
	var b strings.Builder
	for n := -1; n < len(t.rows); n++ {
		cells := t.header
		if n >= 0 {
			cells = t.rows[n]
		}
		t.line(&b, cells, widths, n < 0)
	}
	return b.String()
}

func (t *Table) line(b *strings.Builder, cells []string, widths []int, header bool) {
	parts, height := make([][]string, len(cells)), 1
	for i, c := range cells {
		if widths[i] > 0 {
			parts[i] = []string{c}
			if t.Columns > 0 {
				parts[i] = Wrap(c, widths[i])
			}
			height = max(height, len(parts[i]))
		}
	}
	for n := range height {
		pending := 0 // spaces before the next text, not at the end
		for i := range cells {
			if widths[i] == 0 {
				continue
			}
			text := ""
			if n < len(parts[i]) {
				text = parts[i][n]
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", pending))
				pending = 0
				b.WriteString(t.styled(i, cells[i], text, header))
			}
			pending += widths[i] - Width(text) + gap
		}
		b.WriteByte('\n')
	}
}

func (t *Table) styled(column int, value, text string, header bool) string {
	if t.Style == nil {
		return text
	}
	if header {
		return t.Style("", value, text)
	}
	return t.Style(t.header[column], value, text)
}

// blocks returns rows as lines "NAME value" without empty cells. An unbreakable value may exceed a line.
func (t *Table) blocks() string {
	indent := 0
	for _, h := range t.header {
		indent = max(indent, Width(h)+gap)
	}
	var b strings.Builder
	for n, row := range t.rows {
		if n > 0 {
			b.WriteByte('\n')
		}
		for i, c := range row {
			if c == "" {
				continue
			}
			lines := []string{c}
			if !t.whole[i] {
				lines = Wrap(c, max(minText, t.Columns-indent))
			}
			head := t.header[i]
			for _, text := range lines {
				b.WriteString(t.styled(i, head, head, true) + strings.Repeat(" ", indent-Width(head)))
				b.WriteString(t.styled(i, c, text, false) + "\n")
				head = ""
			}
		}
	}
	return b.String()
}

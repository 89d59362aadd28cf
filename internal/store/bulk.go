package store

import (
	"context"
	"fmt"
	"strings"
)

// bulk is a statement over a list of rows of one shape, in two forms: with arrays, one for each column, a single text
// serves long lists of any length. Otherwise each row has its own parameters.
type bulk struct {
	width  int
	arrays string
	values map[int]string // by number of rows
}

// Three lengths keep the number of prepared statements small.
const manyRows, fewRows = 64, 8

const arrayRows = 1000

// columnTypes are the type letters of bulkOf. Integers of any width are bigint: an insert converts them.
var columnTypes = map[rune]string{'i': "uuid", 'n': "bigint", 't': "text", 'b': "bytea"}

// bulkOf returns the statement of before, a list of rows, and behind. types has a letter of columnTypes for each
// column. In an UPDATE or a SELECT the list is FROM (...) AS v, with columns v.column1, v.column2 ... It is called at
// program start, so that no statement is assembled later.
func bulkOf(before, types, behind string) bulk {
	marks := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(types)), ", ") + ")"
	b := bulk{width: len(types), values: map[int]string{}}
	for _, n := range []int{1, fewRows, manyRows} {
		b.values[n] = before + " VALUES " + strings.TrimSuffix(strings.Repeat(marks+", ", n), ", ") + behind
	}
	var params, names []string
	for i, t := range types {
		params = append(params, fmt.Sprintf("$%d::%s[]", i+1, columnTypes[t]))
		names = append(names, fmt.Sprintf("column%d", i+1))
	}
	b.arrays = before + " SELECT * FROM unnest(" + strings.Join(params, ", ") + ") AS u(" + strings.Join(names, ", ") +
		")" + behind
	return b
}

// run calls each with a statement and its arguments, for all rows in order. An error of each ends it; the transaction
// must then be rolled back.
func (b bulk) run(d Dialect, rows [][]any, each func(query string, args []any) error) error {
	for len(rows) > 0 {
		n := b.next(d, len(rows))
		query, args := b.arrays, []any(nil)
		if d.Arrays {
			args = columnsOf(rows[:n], b.width)
		} else {
			query = b.values[n]
			args = make([]any, 0, n*b.width)
			for _, row := range rows[:n] {
				args = append(args, row...)
			}
		}
		if err := each(query, args); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (b bulk) next(d Dialect, rows int) int {
	switch {
	case d.Arrays:
		return min(rows, arrayRows)
	case rows >= manyRows:
		return manyRows
	case rows >= fewRows:
		return fewRows
	}
	return 1
}

func columnsOf(rows [][]any, width int) []any {
	columns := make([]any, width)
	for c := range columns {
		column := make([]any, len(rows))
		for r, row := range rows {
			column[r] = row[c]
		}
		columns[c] = column
	}
	return columns
}

func (b bulk) send(ctx context.Context, s SQL, rows [][]any) error {
	return b.run(s.Dialect, rows, func(query string, args []any) error { return s.Send(ctx, query, args...) })
}

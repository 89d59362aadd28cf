package store

import (
	"context"
	"strconv"

	"github.com/taskerhq/tasker/internal/engine"
)

// A row of a list is read with its document if that is small. Larger ones are read one by one while they fit the page:
// otherwise a page of 1,000 rows would cost hundreds of megabytes before it is cut.

// small is a column if its text is short, else NULL. Both databases count characters here; the bound on memory need not
// be exact.
func small(column string) string {
	return `CASE WHEN length(CAST(` + column + ` AS text)) <= ` + strconv.Itoa(engine.SmallDocument) + ` THEN ` + column +
		` END`
}

// large is 1 if small omits a value. Both conditions are complements for a value and false for NULL.
func large(column string) string {
	return `CASE WHEN length(CAST(` + column + ` AS text)) > ` + strconv.Itoa(engine.SmallDocument) + ` THEN 1 ELSE 0 END`
}

type documentOf struct {
	id      any
	text    *[]byte
	omitted *bool // omitted, and not read yet
}

// addLarge reads the large documents of a page with a query for one row, in order, up to limit bytes: see
// engine.CaseFilter. A negative limit means none, 0 means all. It stops at the first that does not fit, so that the
// result does not depend on later sizes. A page of one row gets its document in any case.
func (s SQL) addLarge(ctx context.Context, query string, page []documentOf, limit int) error {
	size := 0
	for _, d := range page {
		size += len(*d.text)
	}
	for _, d := range page {
		switch {
		case !*d.omitted:
			continue
		case limit < 0 || limit > 0 && size >= limit:
			return nil
		}
		text, err := first(ctx, s, func(row Row) (text JSON, err error) {
			err = row.Scan(&text)
			return text, err
		}, query, d.id)
		if err != nil {
			return err
		}
		if size += len(text); limit > 0 && size > limit && len(page) > 1 {
			return nil
		}
		*d.text, *d.omitted = text, false
	}
	return nil
}

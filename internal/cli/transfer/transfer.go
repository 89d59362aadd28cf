package transfer

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// pageRows bounds the rows of a query or an insert.
	pageRows = 1000
	// batchBytes bounds the rows in memory, except for a single row.
	batchBytes = 4 << 20
	// lookupRows bounds the keys of one look-up.
	lookupRows = 500
)

// Options are the settings of a copy; the zero value is valid.
type Options struct {
	// Progress receives a table's rows read so far, already present ones included, in the goroutine of Copy.
	Progress func(table string, rows int64)
}

// Report is the result of a copy and of the comparison of both databases.
type Report struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Same   bool    `json:"same"` // all tables are
	Tables []Table `json:"tables"`
}

// Table is the comparison of one table.
type Table struct {
	Name         string `json:"name"`
	Copied       int64  `json:"copied"` // rows added now
	SourceRows   int64  `json:"source_rows"`
	TargetRows   int64  `json:"target_rows"`
	SourceDigest string `json:"source_checksum"`
	TargetDigest string `json:"target_checksum"`
	Same         bool   `json:"same"`
}

// Copy copies one database to another and compares both. It blocks until it is done.
//
// It creates or migrates the target. Rows in the target must be the same in the source: a second run completes an
// interrupted copy, and a further one changes nothing. Errors: Invalid (a DSN), NotFound (no such source),
// Unavailable (a server has one open), Conflict (the target has other content, or cannot hold the rows; nothing was
// written).
//
// A difference is no error: check Report.Same.
func Copy(ctx context.Context, from, to config.DSN, opts Options) (*Report, error) {
	if opts.Progress == nil {
		opts.Progress = func(string, int64) {}
	}
	source, err := openSource(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("open the source: %w", err)
	}
	defer source.close() //nolint:errcheck // it was only read
	var report *Report
	err = source.snapshot(ctx, func() error {
		target, err := openTarget(ctx, to, source)
		if err != nil {
			return fmt.Errorf("open the target: %w", err)
		}
		report, err = copyAll(ctx, source, target, opts)
		if closed := target.close(); err == nil && closed != nil {
			err = fmt.Errorf("close the target: %w", closed)
		}
		return err
	})
	return report, err
}

// copyAll compares the schemas, refuses other content in the target, copies, and compares the content. It reads the
// source in one snapshot, and the target in two: before the first write and after the last.
func copyAll(ctx context.Context, source, target *database, opts Options) (*Report, error) {
	var tables []table
	err := target.snapshot(ctx, func() (err error) {
		if tables, err = agree(ctx, source, target); err != nil {
			return err
		}
		return eachTable(notesLast(tables), func(t *table) error { return onlySame(ctx, source, target, t) })
	})
	if err != nil {
		return nil, err
	}
	report := &Report{From: source.where, To: target.where, Same: true}
	err = eachTable(tables, func(t *table) error {
		n, err := copyTable(ctx, source, target, t, opts.Progress)
		report.Tables = append(report.Tables, Table{Name: t.name, Copied: n})
		return err
	})
	if err != nil {
		return nil, err
	}
	// The comparison, which reads all rows, profits from it.
	if err := target.settled(ctx, tables); err != nil {
		return nil, err
	}
	err = target.snapshot(ctx, func() error {
		for i := range tables {
			if err := verify(ctx, source, target, &tables[i], &report.Tables[i]); err != nil {
				return err
			}
			report.Same = report.Same && report.Tables[i].Same
		}
		return nil
	})
	return report, err
}

func eachTable(tables []table, fn func(*table) error) error {
	for i := range tables {
		if err := fn(&tables[i]); err != nil {
			return err
		}
	}
	return nil
}

// agree returns the common tables, or why they do not match.
func agree(ctx context.Context, source, target *database) ([]table, error) {
	here, err := source.catalog(ctx, source.reads)
	if err != nil {
		return nil, fmt.Errorf("describe the source: %w", err)
	}
	there, err := target.catalog(ctx, target.reads)
	if err != nil {
		return nil, fmt.Errorf("describe the target: %w", err)
	}
	return match(here, there)
}

// onlySame fails if the target has a row that the source lacks or has differently, before the first write.
func onlySame(ctx context.Context, source, target *database, t *table) error {
	var rows []row
	compare := func() error {
		keys := make([]row, len(rows))
		for i, r := range rows {
			keys[i] = t.keyOf(r)
		}
		found, err := source.find(ctx, t, keys)
		if err != nil {
			return err
		}
		for i, r := range rows {
			if err := sameRow(t, keys[i], r, found[keys[i].name()]); err != nil {
				return err
			}
		}
		rows = rows[:0]
		return nil
	}
	var after row
	for {
		last, err := target.page(ctx, t, after, lookupRows, func(r row) error {
			rows = append(rows, r)
			return nil
		})
		if err != nil || last == nil {
			return err
		}
		if err := compare(); err != nil {
			return err
		}
		after = last
	}
}

func sameRow(t *table, key, there, here row) error {
	hint := "copy into a database that is empty, or that an interrupted copy of this source has left"
	if here == nil {
		return &task.Error{Code: task.Conflict, Hint: hint,
			Message: fmt.Sprintf("the target holds other data: %s (%s) is not in the source", t.name, key.name())}
	}
	for i, c := range t.columns {
		if here[i] != there[i] {
			return &task.Error{Code: task.Conflict, Hint: hint,
				Message: fmt.Sprintf("the target holds other data: %s of %s (%s) is not what it is in the source", c.name, t.name,
					key.name())}
		}
	}
	return nil
}

// copyTable adds missing rows, one transaction per batch, so an interrupted copy continues.
func copyTable(ctx context.Context, source, target *database, t *table, progress func(string, int64)) (int64, error) {
	var (
		batch       []row
		bytes       int
		read, added int64
	)
	flush := func() error {
		n, err := target.insert(ctx, t, batch)
		if err != nil {
			return fmt.Errorf("write %s of %s: %w", t.name, target.where, err)
		}
		read, added = read+int64(len(batch)), added+n
		progress(t.name, read)
		batch, bytes = batch[:0], 0
		return nil
	}
	err := source.each(ctx, t, func(r row) error {
		batch = append(batch, r)
		if bytes += r.size(); len(batch) < pageRows && bytes < batchBytes {
			return nil
		}
		return flush()
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	if err != nil {
		return added, err
	}
	last, err := source.counter(ctx, source.reads, t)
	if err != nil {
		return added, fmt.Errorf("read the counter of %s: %w", t.name, err)
	}
	if err := target.advance(ctx, t, last); err != nil {
		return added, fmt.Errorf("advance the counter of %s: %w", t.name, err)
	}
	return added, nil
}

// verify compares checksums of the stored rows.
func verify(ctx context.Context, source, target *database, t *table, out *Table) error {
	here, err := source.sum(ctx, t)
	if err != nil {
		return err
	}
	there, err := target.sum(ctx, t)
	if err != nil {
		return err
	}
	out.SourceRows, out.TargetRows = here.rows, there.rows
	out.SourceDigest, out.TargetDigest = here.String(), there.String()
	out.Same = here.same(there)
	return nil
}

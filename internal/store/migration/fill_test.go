package migration_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// column is what the catalog knows of a column that can be written.
type column struct {
	name, kind string
	check      string // the text of the constraints that may speak of it
}

// catalog lists the tables of the tested schema, without the one that remembers the versions, and their columns.
type catalog func(ctx context.Context, db *sql.DB) (map[string][]column, error)

func sqliteCatalog(ctx context.Context, db *sql.DB) (map[string][]column, error) {
	const find = `SELECT m.name, m.sql, c.name, lower(c.type) FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND c.hidden = 0 ORDER BY m.name, c.cid`
	return readCatalog(ctx, db, find)
}

func postgresCatalog(ctx context.Context, db *sql.DB) (map[string][]column, error) {
	const find = `SELECT r.relname, coalesce((SELECT string_agg(pg_get_constraintdef(k.oid), ' ') FROM pg_constraint k WHERE k.conrelid = r.oid AND k.contype = 'c'), ''),
  a.attname, format_type(a.atttypid, NULL)
 FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
 WHERE r.relnamespace = current_schema()::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition
   AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a' ORDER BY 1, a.attnum`
	return readCatalog(ctx, db, find)
}

func readCatalog(ctx context.Context, db *sql.DB, query string) (map[string][]column, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tables := map[string][]column{}
	for rows.Next() {
		var table string
		var c column
		if err := rows.Scan(&table, &c.check, &c.name, &c.kind); err != nil {
			return nil, err
		}
		if table != "tasker_migrations" {
			tables[table] = append(tables[table], c)
		}
	}
	return tables, rows.Err()
}

// filled is the number of rows that fill puts into each table.
const filled = 3

// fill puts rows into every table, with a value in every column. What it puts
// there is allowed by the schema, and need not make sense.
func fill(t *testing.T, db *sql.DB, tables map[string][]column) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		var names, marks []string
		for i, c := range tables[table] {
			names, marks = append(names, c.name), append(marks, "$"+strconv.Itoa(i+1))
		}
		insert := `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(marks, ", ") + `)`
		for n := 1; n <= filled; n++ {
			var values []any
			for _, c := range tables[table] {
				values = append(values, c.value(t, table, n))
			}
			if _, err := db.ExecContext(t.Context(), insert, values...); err != nil {
				t.Fatalf("fill %s: %v (%v)", table, err, values)
			}
		}
	}
}

// value is the nth value for the column. Text is JSON too, since the type does not
// say where that is wanted, unless a constraint lists what is allowed.
func (c column) value(t *testing.T, table string, n int) any {
	t.Helper()
	allowed := regexp.MustCompile(`(?is)\b` + c.name + `\b\s*(?:=|IN)[^']{0,20}'([^']*)'`)
	switch {
	case strings.Contains(c.kind, "int"):
		return n
	case c.kind == "boolean":
		return n%2 == 0
	case c.kind == "uuid":
		return fmt.Sprintf("01933d7c-0000-7000-8000-%012d", n)
	case c.kind == "text":
		if m := allowed.FindStringSubmatch(c.check); m != nil {
			return m[1]
		}
		return fmt.Sprintf(`{"n": "%d"}`, n)
	case c.kind == "bytea", c.kind == "blob":
		return []byte{0, byte(n), 0xff}
	case c.kind == "json", c.kind == "jsonb":
		return fmt.Sprintf(`{"n": "%d"}`, n)
	}
	t.Fatalf("the filler does not know the type %s of %s.%s; teach it", c.kind, table, c.name)
	return nil
}

// row is what one row holds, by column.
type row map[string]string

// only is the row in some columns, as text that can be compared.
func (r row) only(columns []column) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.name+"="+r[c.name])
	}
	return strings.Join(parts, " ")
}

// rowsOf reads all rows of a table.
func rowsOf(t *testing.T, db *sql.DB, table string, columns []column) []row {
	t.Helper()
	var casts []string
	for _, c := range columns {
		casts = append(casts, `coalesce(CAST(`+c.name+` AS text), 'NULL')`)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT `+strings.Join(casts, ", ")+` FROM `+table)
	if err != nil {
		t.Fatalf("read %s: %v", table, err)
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		values, dst := make([]string, len(columns)), make([]any, len(columns))
		for i := range values {
			dst[i] = &values[i]
		}
		if err := rows.Scan(dst...); err != nil {
			t.Fatal(err)
		}
		r := row{}
		for i, c := range columns {
			r[c.name] = values[i]
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

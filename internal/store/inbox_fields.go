package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// record describes the table of a type: fields are pointers to the fields, in the order of the columns, for reads,
// writes, and the types of an insert, the ID first if there is one.
type record[T any] struct {
	table, columns string // with an alias of the table
	fields         func(*T) []any
}

// values reads the rows of a query; rest follows the table.
func (r record[T]) values(ctx context.Context, s SQL, rest string, args ...any) ([]T, error) {
	return collect(ctx, s, func(row Row) (v T, err error) {
		err = s.read(row, r.fields(&v)...)
		return v, err
	}, `SELECT `+r.columns+` FROM `+r.table+rest, args...)
}

func (r record[T]) list(ctx context.Context, s SQL, rest string, args ...any) ([]*T, error) {
	return collect(ctx, s, func(row Row) (*T, error) {
		v := new(T)
		return v, s.read(row, r.fields(v)...)
	}, `SELECT `+r.columns+` FROM `+r.table+rest, args...)
}

func (r record[T]) first(ctx context.Context, s SQL, rest string, args ...any) (*T, error) {
	list, err := r.list(ctx, s, rest, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// byID does not find an ID that only resembles a stored one: SQLite keeps a part of an ID.
func (r record[T]) byID(ctx context.Context, s SQL, rest string, id task.ID) (*T, error) {
	v, err := r.first(ctx, s, rest, s.id(id))
	if err != nil || v == nil || *r.fields(v)[0].(*task.ID) != id {
		return nil, err
	}
	return v, nil
}

func (r record[T]) insert(behind string) bulk {
	name, _, _ := strings.Cut(r.table, " ")
	return bulkOf("INSERT INTO "+name+" ("+bare(r.columns)+")", typesOf(r.fields(new(T))), behind)
}

// coded is a field with another form in its column; kind is a letter of columnTypes.
type coded struct {
	kind   rune
	encode func() (any, error)
	decode func([]byte) error
}

func jsonField(v, none any) coded {
	return coded{'t', func() (any, error) {
		text, err := jsonText(v)
		if text == "null" {
			text = none
		}
		return text, err
	}, func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		return JSON(b).into(v)
	}}
}

func packed[T any](v *T, pack func(T) ([]byte, error), unpack func([]byte) (T, error)) coded {
	return coded{'b', func() (any, error) {
		b, err := pack(*v)
		return binary(b), err
	}, func(b []byte) (err error) {
		*v, err = unpack(b)
		return err
	}}
}

func (s SQL) read(row Row, fields ...any) error {
	dest := slices.Clone(fields)
	for i, f := range fields {
		switch f := f.(type) {
		case *task.ID:
			dest[i] = s.ScanID(f)
		case *string:
			dest[i] = (*Text)(f)
		case *bool:
			dest[i] = new(int64)
		case *[]byte:
			dest[i] = (*JSON)(f)
		case coded:
			dest[i] = new(JSON)
		}
	}
	if err := row.Scan(dest...); err != nil {
		return err
	}
	for i, f := range fields {
		switch f := f.(type) {
		case *bool:
			*f = *dest[i].(*int64) != 0
		case coded:
			if err := f.decode(*dest[i].(*JSON)); err != nil {
				return err
			}
		}
	}
	return nil
}

// columns replaces fields, in place, by their values: clean texts, NULL for the zero ID and nil. Only pointers are
// fields.
func (s SQL) columns(fields []any) (_ []any, err error) {
	for i, f := range fields {
		switch f := f.(type) {
		case *task.ID:
			fields[i] = s.optional(*f)
		case *string:
			fields[i] = clean(*f)
		case *bool:
			fields[i] = flag(*f)
		case *[]byte:
			fields[i] = binary(*f)
		case *int:
			fields[i] = *f
		case *int64:
			fields[i] = *f
		case *task.Instant:
			fields[i] = int64(*f)
		case coded:
			if fields[i], err = f.encode(); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

func typesOf(fields []any) string {
	types := make([]rune, len(fields))
	for i, f := range fields {
		types[i] = 'n'
		switch f := f.(type) {
		case *task.ID:
			types[i] = 'i'
		case *string:
			types[i] = 't'
		case *[]byte:
			types[i] = 'b'
		case coded:
			types[i] = f.kind
		}
	}
	return string(types)
}

func bare(columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name[strings.IndexByte(name, '.')+1:])
	}
	return strings.Join(names, ", ")
}

func assigned(columns string, from int) string {
	names := strings.Split(bare(columns), ", ")
	for i, name := range names {
		names[i] = name + " = $" + strconv.Itoa(from+i)
	}
	return strings.Join(names, ", ")
}

// updateOf returns an update of columns by a key, which is the first argument.
func updateOf(table, columns, key string) string {
	return "UPDATE " + table + " SET " + assigned(columns, 2) + " WHERE " + key + " = $1"
}

func (s SQL) update(ctx context.Context, query string, key any, fields []any) error {
	args, err := s.columns(append([]any{key}, fields...))
	if err != nil {
		return err
	}
	return s.Send(ctx, query, args...)
}

func (b bulk) over(s SQL, n int, fields func(i int) []any, each func(query string, args []any) error) (err error) {
	rows := make([][]any, n)
	for i := range rows {
		if rows[i], err = s.columns(fields(i)); err != nil {
			return err
		}
	}
	return b.run(s.Dialect, rows, each)
}

func (b bulk) add(ctx context.Context, s SQL, n int, fields func(i int) []any) error {
	return b.over(s, n, fields, func(query string, args []any) error { return s.Send(ctx, query, args...) })
}

// inParts calls run with keys as a list for IN, in parts that fit into a statement. Their arguments follow args.
func inParts[K any](keys []K, arg func(K) any, args []any, run func(in string, args []any) error) error {
	for part := range slices.Chunk(keys, fetched) {
		w := where{args: slices.Clone(args)}
		if err := run(list(&w, part, arg), w.args); err != nil {
			return err
		}
	}
	return nil
}

// saveAlike calls save for records with equal fields, once for each chunk of their IDs: with the columns as arguments,
// and a list for IN. IDs are sorted in a chunk, and values by their first ID, so that transactions mostly lock rows in
// one order.
func saveAlike[T any](s SQL, rows []T, id func(*T) task.ID, fields func(*T) []any,
	save func(w *where, ids string) error,
) error {
	type values [12]any // no record has more
	sorted := make([]*T, len(rows))
	for i := range rows {
		sorted[i] = &rows[i]
	}
	slices.SortStableFunc(sorted, func(a, b *T) int { return compareIDs(id(a), id(b)) })
	var order []values
	alike, width := map[values][]task.ID{}, 0
	for _, row := range sorted {
		columns, err := s.columns(fields(row))
		if err != nil {
			return err
		}
		var v values
		width = copy(v[:], columns)
		if alike[v] == nil {
			order = append(order, v)
		}
		alike[v] = append(alike[v], id(row))
	}
	for _, v := range order {
		for ids := range chunks(alike[v]) {
			w := where{args: slices.Clone(v[:width])}
			if err := save(&w, s.idList(&w, ids)); err != nil {
				return err
			}
		}
	}
	return nil
}

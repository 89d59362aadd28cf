package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Arguments are encoded here in PostgreSQL's binary format, by the type in the statement, into one buffer: a batch has
// thousands of values, and interfaces would cost more than the statement.

// encoder encodes the arguments of statements. Its results are valid until the next reset.
type encoder struct{ buf []byte }

func (e *encoder) reset() { e.buf = e.buf[:0] }

// values encodes the arguments of one statement. A nil result is NULL. The capacity of each slice is cut, so that an
// append cannot overwrite the next one.
func (e *encoder) values(oids []uint32, args []any) ([][]byte, error) {
	if len(oids) != len(args) {
		return nil, fmt.Errorf("%d arguments for %d parameters", len(args), len(oids))
	}
	out := make([][]byte, len(args))
	for i, a := range args {
		from := len(e.buf)
		null, err := e.value(oids[i], a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		if !null {
			out[i] = e.buf[from:len(e.buf):len(e.buf)]
		}
	}
	return out, nil
}

// value appends one argument. Only this package's types occur; another one is a bug.
func (e *encoder) value(oid uint32, arg any) (null bool, err error) {
	switch v := arg.(type) {
	case nil:
		return true, nil
	case int:
		return false, e.integer(oid, int64(v))
	case int64:
		return false, e.integer(oid, v)
	case string:
		e.buf = append(e.buf, v...)
	case []byte:
		if v == nil {
			return true, nil
		}
		e.buf = append(e.buf, v...)
	// A uuid is sent as its 16 bytes.
	case task.ID:
		e.buf = append(e.buf, v[:]...)
	case bool:
		e.buf = append(e.buf, boolByte(v))
	default:
		return false, e.list(oid, arg)
	}
	return false, nil
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// integer appends an integer in the width of the parameter, which must fit. A literal cast in the statement decides the
// width; else PostgreSQL derives it from the column.
func (e *encoder) integer(oid uint32, v int64) error {
	switch oid {
	case pgtype.Int8OID:
		e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v))
	case pgtype.Int4OID:
		e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v))
	case pgtype.Int2OID:
		e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(v))
	default:
		return fmt.Errorf("an integer for a parameter of type %d", oid)
	}
	return nil
}

// elements are the types of lists and of their elements, which is written into the array, and must be the one that the
// server expects.
var elements = map[uint32]uint32{
	pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int2ArrayOID: pgtype.Int2OID,
	pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.TextArrayOID: pgtype.TextOID, pgtype.XIDArrayOID: pgtype.XIDOID,
	pgtype.ByteaArrayOID: pgtype.ByteaOID,
}

func (e *encoder) list(oid uint32, arg any) error {
	of, ok := elements[oid]
	if !ok {
		return fmt.Errorf("a %T for a parameter of type %d", arg, oid)
	}
	switch v := arg.(type) {
	case []int64:
		return each(e, of, v, func(n int64) error { return e.sized(of, n) })
	case []uint32: // transaction IDs
		return each(e, of, v, func(n uint32) error {
			e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0, 0, 0, 4), n)
			return nil
		})
	case []task.ID:
		return each(e, of, v, func(id task.ID) error {
			e.buf = append(append(e.buf, 0, 0, 0, 16), id[:]...)
			return nil
		})
	case []string:
		return each(e, of, v, func(s string) error {
			e.buf = append(binary.BigEndian.AppendUint32(e.buf, uint32(len(s))), s...)
			return nil
		})
	case [][]byte: // texts, nil is NULL
		return each(e, of, v, func(b []byte) error {
			if b == nil {
				// The length -1 marks a NULL.
				e.buf = append(e.buf, 0xff, 0xff, 0xff, 0xff)
				return nil
			}
			e.buf = append(binary.BigEndian.AppendUint32(e.buf, uint32(len(b))), b...)
			return nil
		})
	case []any: // each as an argument
		return each(e, of, v, func(a any) error { return e.element(of, a) })
	default:
		return fmt.Errorf("no way to send a %T", arg)
	}
}

// element appends one value of any type to an array: its length, filled in afterwards, and the value.
func (e *encoder) element(of uint32, arg any) error {
	at := len(e.buf)
	e.buf = append(e.buf, 0xff, 0xff, 0xff, 0xff)
	null, err := e.value(of, arg)
	if err == nil && !null {
		binary.BigEndian.PutUint32(e.buf[at:], uint32(len(e.buf)-at-4))
	}
	return err
}

// each writes an array in PostgreSQL's binary format: the number of dimensions, a flag, the type of the elements, and
// for a list that is not empty its length and lower bound, before the elements.
func each[T any](e *encoder, of uint32, list []T, one func(T) error) error {
	dimensions := uint32(1)
	if len(list) == 0 {
		dimensions = 0
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, dimensions)
	e.buf = binary.BigEndian.AppendUint32(e.buf, 1) // there may be NULLs
	e.buf = binary.BigEndian.AppendUint32(e.buf, of)
	if len(list) == 0 {
		return nil
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(len(list)))
	e.buf = binary.BigEndian.AppendUint32(e.buf, 1) // indexes start at 1
	for _, v := range list {
		if err := one(v); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) sized(of uint32, n int64) error {
	width := byte(8)
	switch of {
	case pgtype.Int4OID:
		width = 4
	case pgtype.Int2OID:
		width = 2
	}
	e.buf = append(e.buf, 0, 0, 0, width)
	return e.integer(of, n)
}

package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// value is a value in its canonical form: integers in decimal, IDs as UUIDs,
// bytes in hexadecimal, everything else as it is.
type value struct {
	text string
	null bool
}

// String formats a value for messages.
func (v value) String() string {
	if v.null {
		return "NULL"
	}
	return v.text
}

// row holds the values of a table's columns.
// It is not changed after it was read; slices of rows may share its values.
type row []value

// size estimates the memory of a row in bytes.
// 8 bytes stand for what a value costs besides its text.
func (r row) size() int {
	n := 0
	for _, v := range r {
		n += len(v.text) + 8
	}
	return n
}

// name formats a key for messages and as the key of a map.
func (r row) name() string {
	parts := make([]string, len(r))
	for i, v := range r {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// digest is the checksum of a set of rows. It does not depend on their order,
// because two engines sort text differently.
// The sums are added without a carry, so rows can be added in any order. Unlike with XOR, a row that appears twice
// counts twice.
type digest struct {
	rows int64
	sums [4]uint64
	buf  []byte
}

// add adds a row. The lengths of values are hashed too, so that moving text from one column to
// the next changes the sum.
func (d *digest) add(r row) {
	d.buf = d.buf[:0]
	for _, v := range r {
		if v.null {
			d.buf = append(d.buf, 0)
			continue
		}
		d.buf = append(d.buf, 1)
		d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(len(v.text)))
		d.buf = append(d.buf, v.text...)
	}
	sum := sha256.Sum256(d.buf)
	for i := range d.sums {
		d.sums[i] += binary.BigEndian.Uint64(sum[8*i:])
	}
	d.rows++
}

// String returns half of the checksum in hexadecimal. It is for people; same compares the
// whole.
func (d *digest) String() string {
	var b []byte
	for _, s := range d.sums[:2] {
		b = binary.BigEndian.AppendUint64(b, s)
	}
	return hex.EncodeToString(b)
}

// same reports whether both sums are of equal rows.
func (d *digest) same(o *digest) bool { return d.rows == o.rows && d.sums == o.sums }

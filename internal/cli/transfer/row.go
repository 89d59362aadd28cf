package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// value is canonical: integers in decimal, IDs as UUIDs, bytes in hexadecimal, everything else unchanged.
type value struct {
	text string
	null bool
}

func (v value) String() string {
	if v.null {
		return "NULL"
	}
	return v.text
}

// row is immutable; slices of rows may share its values.
type row []value

// size estimates the memory of a row, with 8 bytes per value besides its text.
func (r row) size() int {
	n := 0
	for _, v := range r {
		n += len(v.text) + 8
	}
	return n
}

// name formats a key for messages and map keys.
func (r row) name() string {
	parts := make([]string, len(r))
	for i, v := range r {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// digest is an order-independent checksum of rows, because engines sort text differently. The sums are added
// without carry; unlike with XOR, a duplicate row counts twice.
type digest struct {
	rows int64
	sums [4]uint64
	buf  []byte
}

// add hashes lengths, too, so that moving text between columns changes the sum.
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

// String is half of the checksum, for people.
func (d *digest) String() string {
	var b []byte
	for _, s := range d.sums[:2] {
		b = binary.BigEndian.AppendUint64(b, s)
	}
	return hex.EncodeToString(b)
}

func (d *digest) same(o *digest) bool { return d.rows == o.rows && d.sums == o.sums }

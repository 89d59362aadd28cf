package spool

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A record is a header and its data. The header has the mark, the length of the data, the checksum of the data, and the
// checksum of these twelve bytes, each of four bytes. So a wrong length is noticed before use, and a search for the
// mark finds the next record behind damage.
const headerSize = 16

// mark begins each record. It is not UTF-8, so texts in records do not contain it.
var mark = [4]byte{0xf5, 'T', 'S', 0xfa}

// MaxRecord is the greatest size of a record, in bytes.
const MaxRecord = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b, data []byte) []byte {
	at := len(b)
	b = append(b, mark[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(data, castagnoli))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
	return append(b, data...)
}

// parsed is the result of parse.
type parsed int

const (
	whole   parsed = iota // a record
	short                 // the beginning of a record without its rest
	damaged               // something else
)

// parse reads the beginning of b. data is that of a complete record and shares memory with b.
func parse(b []byte) (data []byte, what parsed) {
	if len(b) < headerSize {
		if bytes.HasPrefix(mark[:], b[:min(len(b), len(mark))]) || bytes.HasPrefix(b, mark[:]) {
			return nil, short
		}
		return nil, damaged
	}
	if !bytes.HasPrefix(b, mark[:]) || binary.BigEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return nil, damaged
	}
	n := int64(binary.BigEndian.Uint32(b[4:]))
	switch {
	case n > MaxRecord:
		return nil, damaged
	case n > int64(len(b)-headerSize):
		return nil, short
	}
	data = b[headerSize : headerSize+n]
	if binary.BigEndian.Uint32(b[8:]) != crc32.Checksum(data, castagnoli) {
		return nil, damaged
	}
	return data, whole
}

// next returns the bytes of b before the next complete record, len(b) if there is none. It starts behind the first
// byte.
func next(b []byte) int {
	for at := 1; at < len(b); at++ {
		found := bytes.Index(b[at:], mark[:])
		if found < 0 {
			return len(b)
		}
		at += found
		if _, what := parse(b[at:]); what == whole {
			return at
		}
	}
	return len(b)
}

// torn reports whether the end of a file is the rest of a crashed write: the beginning of a record, then perhaps zeros,
// for which the file system had only reserved space.
func torn(b []byte) bool {
	b = bytes.TrimRight(b, "\x00")
	if len(b) == 0 {
		return true
	}
	_, what := parse(b)
	return what == short
}

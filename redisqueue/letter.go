package redisqueue

import (
	"encoding/binary"
	"errors"
	"fmt"
)

type letter struct {
	queue    string // origin of the job
	consumer string // its list has the job; "" for none
	job      []byte
	body     []byte // JSON of the JobFailure
	// writer and number identify the letter: numbers of a writer increase, so that Redis recognises one that it has.
	writer string
	number uint64
}

const letterVersion = 1

func (l *letter) encode() []byte {
	b := make([]byte, 0, len(l.job)+len(l.body)+len(l.queue)+64)
	b = append(b, letterVersion)
	b = binary.AppendUvarint(b, l.number)
	for _, field := range [][]byte{[]byte(l.writer), []byte(l.queue), []byte(l.consumer), l.job, l.body} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}

var errRecord = errors.New("a record of the spool is no dead letter of this version of the program")

// decodeLetter is the reverse of encode. It shares memory with b.
func decodeLetter(b []byte) (*letter, error) {
	if len(b) == 0 || b[0] != letterVersion {
		return nil, errRecord
	}
	b = b[1:]
	l := &letter{}
	var n int
	if l.number, n = binary.Uvarint(b); n <= 0 {
		return nil, errRecord
	}
	b = b[n:]
	var fields [5][]byte
	for i := range fields {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errRecord
		}
		fields[i], b = b[n:n+int(size)], b[n+int(size):]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes are left over", errRecord, len(b))
	}
	l.writer, l.queue, l.consumer = string(fields[0]), string(fields[1]), string(fields[2])
	l.job, l.body = fields[3], fields[4]
	return l, nil
}

func (l *letter) sameRun(m *letter) bool {
	return l.writer == m.writer && l.queue == m.queue && l.consumer == m.consumer
}

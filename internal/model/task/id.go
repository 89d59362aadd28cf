package task

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// ID is a UUID of version 7 (RFC 9562). Its first 60 free bits, the sequence, are 48 bits of milliseconds and a
// 12-bit counter. Sequences of a Source strictly increase, so IDs order by creation, and a store with a single
// writing Source can use the sequence as its key.
//
// A task with n steps owns n+1 consecutive sequences, so its steps are a range of keys.
type ID [16]byte

const (
	seqBits = 60
	lowMask = 1<<62 - 1
	version = 0x7000
	variant = 1 << 63
)

// MakeID builds an ID from a sequence and the low 62 bits.
func MakeID(seq int64, low uint64) ID {
	var id ID
	hi := uint64(seq)
	binary.BigEndian.PutUint64(id[:8], hi>>12<<16|version|hi&0xfff)
	binary.BigEndian.PutUint64(id[8:], variant|low&lowMask)
	return id
}

// Seq returns the 60-bit sequence.
func (id ID) Seq() int64 {
	hi := binary.BigEndian.Uint64(id[:8])
	return int64(hi>>16<<12 | hi&0xfff)
}

// Ordinal returns the number of a step in a task, from 1.
func (id ID) Ordinal(of ID) int { return int(id.Seq() - of.Seq()) }

// Low returns the low 62 bits.
func (id ID) Low() uint64 { return binary.BigEndian.Uint64(id[8:]) & lowMask }

// IsZero reports whether the ID is unset.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}

// ParseID reads the canonical form.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, fmt.Errorf("%q is not a UUID", s)
	}
	flat := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(flat)); err != nil {
		return ID{}, fmt.Errorf("%q is not a UUID", s)
	}
	return id, nil
}

// SeqFloor is the lowest sequence of a Source at t.
func SeqFloor(t time.Time) int64 { return t.UnixMilli() << 12 }

// Source issues IDs. It is safe for concurrent use.
//
// The low bits are a keyed mix of the sequence: a store with the seed can rebuild an ID from its sequence, and IDs of
// two sources differ even if their clocks agree.
type Source struct {
	seed uint64

	mu   sync.Mutex
	last int64
}

// NewSource returns a Source that continues after the sequence last.
func NewSource(seed uint64, last int64) *Source { return &Source{seed: seed, last: last} }

// Take reserves n consecutive sequences and returns the first ID. If the clock stops or goes back, sequences run
// ahead of it.
func (s *Source) Take(now time.Time, n int) ID {
	s.mu.Lock()
	seq := max(s.last+1, SeqFloor(now))
	s.last = seq + int64(n) - 1
	s.mu.Unlock()
	return s.ID(seq)
}

// Step returns the ID of the n-th step, from 1, of a task of this Source. For a task of another node the result is
// wrong, and may belong to a task of this one.
func (s *Source) Step(task ID, n int) ID { return s.ID(task.Seq() + int64(n)) }

// ID rebuilds the ID of a sequence of this Source.
func (s *Source) ID(seq int64) ID { return MakeID(seq, mix(s.seed^uint64(seq))) }

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

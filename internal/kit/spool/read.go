package spool

import (
	"fmt"
	"io"
	"os"
)

// Read returns the oldest records, up to max of them and about maxBytes, but at least one; none if none waits. They
// stay until Done: another Read returns them again. Callers must not change their bytes. It does not block.
func (s *Spool) Read(max int, maxBytes int64) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.read = s.read[:0]
	var out [][]byte
	var bytes int64
	at, b := s.cursor, s.head
	for i := 0; i < len(s.segments) && len(out) < max; {
		g := s.segments[i]
		if g.number != at.segment {
			at, b = position{segment: g.number}, nil
		}
		if at.offset >= g.size {
			i++
			continue
		}
		if len(b) == 0 {
			var err error
			if b, err = s.load(g, at.offset); err != nil {
				return nil, fmt.Errorf("read the spool: %w", err)
			}
			if at == s.cursor {
				s.head = b
			}
		}
		data, what := parse(b)
		if what != whole {
			n := next(b)
			if err := s.report(g.number, at.offset, b[:n]); err != nil {
				return nil, err
			}
			b, at.offset = b[n:], at.offset+int64(n)
			s.pass(at, b)
			continue
		}
		size := int64(headerSize + len(data))
		if len(out) > 0 && bytes+size > maxBytes {
			break
		}
		b, at.offset, bytes = b[size:], at.offset+size, bytes+size
		out = append(out, data)
		s.read = append(s.read, at)
	}
	if len(out) == 0 {
		return nil, s.tidy() // there may be files with only damage
	}
	return out, nil
}

// pass skips damage, together with the record just read before it; b begins after the damage.
func (s *Spool) pass(at position, b []byte) {
	if n := len(s.read); n > 0 {
		s.read[n-1] = at
		return
	}
	s.move(at)
	s.head = b
}

// load reads a segment from an offset to the end of its synced bytes.
func (s *Spool) load(g segment, offset int64) ([]byte, error) {
	f, err := os.Open(s.path(g.number))
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	b := make([]byte, g.size-offset)
	if n, err := f.ReadAt(b, offset); err != nil && (err != io.EOF || n < len(b)) {
		return nil, err
	}
	return b, nil
}

// Done drops the first n records of the last Read, and removes files without further records. A crash may undo a Done,
// so that the next process reads records again.
func (s *Spool) Done(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if n <= 0 || n > len(s.read) {
		if n == 0 {
			return nil
		}
		return fmt.Errorf("drop %d records of the spool, of which %d were read", n, len(s.read))
	}
	to := s.read[n-1]
	s.read = s.read[n:]
	if to.segment == s.cursor.segment && to.offset-s.cursor.offset <= int64(len(s.head)) {
		s.head = s.head[to.offset-s.cursor.offset:]
	} else {
		s.head = nil
	}
	s.records -= n
	s.move(to)
	return s.tidy()
}

// The caller of move holds mu.
func (s *Spool) move(to position) {
	for _, g := range s.segments {
		switch {
		case g.number < s.cursor.segment || g.number > to.segment:
		case g.number == s.cursor.segment && g.number == to.segment:
			s.bytes -= to.offset - s.cursor.offset
		case g.number == s.cursor.segment:
			s.bytes -= g.size - s.cursor.offset
		case g.number == to.segment:
			s.bytes -= to.offset
		default:
			s.bytes -= g.size
		}
	}
	s.cursor = to
}

// tidy writes the cursor and removes the files before it; the caller holds mu. It removes a fully read last file, too:
// an idle spool takes no space.
func (s *Spool) tidy() error {
	before := s.cursor
	var gone []uint64
	for len(s.segments) > 0 {
		g := s.segments[0]
		if g.number > s.cursor.segment || g.number == s.cursor.segment && s.cursor.offset < g.size {
			break
		}
		if len(s.segments) == 1 && s.active != nil {
			if s.writing {
				break
			}
			if err := s.seal(); err != nil {
				return fmt.Errorf("close a file of the spool: %w", err)
			}
		}
		if g.number == s.cursor.segment {
			s.cursor, s.head = position{segment: g.number + 1}, nil
		}
		s.segments = s.segments[1:]
		gone = append(gone, g.number)
	}
	if len(s.segments) == 0 {
		s.records, s.bytes = 0, 0 // damage after Open had been counted as records
	}
	if s.cursor == before && s.cursor == s.written {
		return nil
	}
	// The cursor first: a crash in between leaves files that the next Open removes.
	if err := s.writeCursor(s.cursor); err != nil {
		return fmt.Errorf("write how far the spool was read: %w", err)
	}
	s.written = s.cursor
	for _, number := range gone {
		if err := removeFile(s.path(number)); err != nil {
			return fmt.Errorf("remove a file of the spool: %w", err)
		}
	}
	return nil
}

package spool

import (
	"fmt"
	"log/slog"
	"os"
)

// Recovery is the state that Open found.
type Recovery struct {
	Records int   // that wait
	Bytes   int64 // of them, with their headers
	// Torn is the number of bytes cut off: an interrupted write. No Append had returned nil for it.
	Torn int64
	// Damaged are pieces of files that are not records.
	Damaged []Damage
}

// Log reports waiting dead letters and damage.
func (r Recovery) Log(log *slog.Logger, dir string) {
	if r.Records > 0 || r.Torn > 0 {
		log.Warn("dead letters wait in the spool", "dir", dir, "letters", r.Records, "torn_bytes", r.Torn)
	}
	for _, d := range r.Damaged {
		log.Error("a damaged record of the spool was set aside", "file", d.Path, "bytes", d.Bytes)
	}
}

// Damage is a piece of a file where a record was: a bad disk, or a change by hand. It was copied to Path.
type Damage struct {
	Path   string
	Offset int64 // in the segment
	Bytes  int64
}

// recover reads all segments: it counts waiting records, cuts off torn ends, and sets damage aside.
func (s *Spool) recover() (Recovery, error) {
	numbers, err := segmentNumbers(s.dir)
	if err != nil {
		return Recovery{}, err
	}
	var r Recovery
	for i, number := range numbers {
		s.last = number
		if number < s.cursor.segment {
			// A crash came between the cursor and the removal.
			if err := removeFile(s.path(number)); err != nil {
				return Recovery{}, err
			}
			continue
		}
		if err := s.recoverSegment(number, i == len(numbers)-1, &r); err != nil {
			return Recovery{}, err
		}
	}
	// Numbers are not reused: the cursor might lie behind one.
	s.last = max(s.last, s.cursor.segment)
	if len(s.segments) > 0 && s.segments[0].number > s.cursor.segment {
		s.cursor = position{segment: s.segments[0].number}
	}
	s.records, s.bytes = r.Records, r.Bytes
	return r, nil
}

// recoverSegment reads one segment from the cursor.
func (s *Spool) recoverSegment(number uint64, newest bool, r *Recovery) error {
	b, err := os.ReadFile(s.path(number))
	if err != nil {
		return err
	}
	from := int64(0)
	if number == s.cursor.segment {
		from = s.cursor.offset
	}
	if from < 0 || from > int64(len(b)) {
		return fmt.Errorf("the segment %s has %d bytes, of which %d were read: it was changed by another program",
			s.path(number), len(b), from)
	}
	at := from
	for at < int64(len(b)) {
		data, what := parse(b[at:])
		if what == whole {
			r.Records++
			at += headerSize + int64(len(data))
			r.Bytes += headerSize + int64(len(data))
			continue
		}
		n := int64(next(b[at:]))
		if newest && at+n == int64(len(b)) && torn(b[at:]) {
			r.Torn += n
			b = b[:at]
			if err := s.truncate(number, at); err != nil {
				return err
			}
			break
		}
		if err := s.report(number, at, b[at:at+n]); err != nil {
			return err
		}
		at += n
		r.Bytes += n // until it is passed by; see Read
	}
	r.Damaged = s.damage
	s.segments = append(s.segments, segment{number, int64(len(b))})
	return nil
}

// report sets damage aside, once.
func (s *Spool) report(number uint64, offset int64, b []byte) error {
	path, err := s.setAside(number, offset, b)
	if err != nil {
		return fmt.Errorf("set a damaged record aside: %w", err)
	}
	for _, d := range s.damage {
		if d.Path == path {
			return nil
		}
	}
	s.damage = append(s.damage, Damage{path, offset, int64(len(b))})
	return nil
}

// truncate cuts a segment, on disk at its return.
func (s *Spool) truncate(number uint64, size int64) error {
	f, err := os.OpenFile(s.path(number), os.O_RDWR, private)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		f.Close() // the first error matters
		return err
	}
	if err := s.sync(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

// Defaults of Options.
const (
	DefaultMaxBytes     = 256 << 20
	DefaultSegmentBytes = 4 << 20
)

// atOnce bounds the callers that share a sync.
const atOnce = 1024

// Options are the settings of a Spool.
type Options struct {
	// MaxBytes bounds the waiting records, with 16 bytes for each. The files take up to SegmentBytes more. Defaults to
	// DefaultMaxBytes.
	MaxBytes int64
	// SegmentBytes is the size from which a file is full. Defaults to DefaultSegmentBytes.
	SegmentBytes int64
}

var (
	// ErrLocked reports that another Spool has the directory.
	ErrLocked = errors.New("the spool directory is in use by another process")
	// ErrClosed reports that the Spool was closed.
	ErrClosed = errors.New("the spool is closed")
	// ErrTooLarge reports that a record has more than MaxRecord bytes.
	ErrTooLarge = fmt.Errorf("a record of the spool has at most %d bytes", MaxRecord)
)

// FullError reports that the records of a call do not fit below MaxBytes. Nothing of the call was written; reading
// frees space.
type FullError struct {
	Bytes, Limit int64 // that wait, and at most
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the spool is full: %d of %d bytes wait to be sent on", e.Bytes, e.Limit)
}

// Spool is an open directory. Append is safe for concurrent use, also with Read and Done; one goroutine at a time calls
// Read and Done.
type Spool struct {
	dir    string
	o      Options
	lock   *os.File
	writes *coalesce.Group[[][]byte, error]
	sync   func(*os.File) error // of a file or directory; tests let it fail

	mu       sync.Mutex
	closed   bool
	segments []segment // the oldest first
	active   *os.File  // of the last segment; nil if the next write begins a new one
	writing  bool
	last     uint64 // the greatest number of a segment so far
	cursor   position
	written  position // the cursor in its file

	cursorFile *os.File
	records    int   // that wait
	bytes      int64 // that wait

	head   []byte     // of the oldest segment, from cursor on
	read   []position // the ends of the records of the last Read
	damage []Damage
}

// Open opens a directory, which it creates if missing, and returns the recovered state. It reads all files. ErrLocked:
// another process has it.
func Open(dir string, o Options) (*Spool, Recovery, error) { return open(dir, o, (*os.File).Sync) }

func open(dir string, o Options, sync func(*os.File) error) (*Spool, Recovery, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return nil, Recovery{}, fmt.Errorf("open a spool: %w", err)
	}
	held, err := lock(dir)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("open a spool: %w", err)
	}
	s := &Spool{dir: dir, o: o, lock: held, sync: sync}
	s.writes = coalesce.New(atOnce, 1, s.write)
	if err := s.openCursor(); err != nil {
		held.Close() // there were no writes through it
		return nil, Recovery{}, fmt.Errorf("open the spool %s: %w", dir, err)
	}
	r, err := s.recover()
	if err != nil {
		s.cursorFile.Close()
		held.Close()
		return nil, Recovery{}, fmt.Errorf("open the spool %s: %w", dir, err)
	}
	return s, r, nil
}

// Append writes records, in order and next to each other, and returns when all are on disk. It blocks for a sync of the
// disk, which concurrent callers share. After an error none of them will be read, except that a crash right then may
// leave some: repeated records may be read twice.
//
// A *FullError means that there is no space, ErrTooLarge that one record is too large. When ctx ends before the write
// begins, Append returns its error.
func (s *Spool) Append(ctx context.Context, records ...[]byte) error {
	for _, r := range records {
		if len(r) > MaxRecord {
			return ErrTooLarge
		}
	}
	if len(records) == 0 {
		return nil
	}
	outcome, err := s.writes.Do(ctx, records)
	if err == nil {
		err = outcome
	}
	return err
}

// write writes the records of some callers with one sync. It is not called concurrently.
func (s *Spool) write(callers [][][]byte) ([]error, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	outcomes := make([]error, len(callers))
	var b []byte
	n := 0
	for i, records := range callers {
		size := int64(len(b))
		for _, r := range records {
			size += headerSize + int64(len(r))
		}
		if s.bytes+size > s.o.MaxBytes {
			outcomes[i] = &FullError{s.bytes + int64(len(b)), s.o.MaxBytes}
			continue
		}
		for _, r := range records {
			b = appendRecord(b, r)
		}
		n += len(records)
	}
	if n == 0 {
		s.mu.Unlock()
		return outcomes, nil
	}
	f, size, err := s.activate()
	s.writing = err == nil
	s.mu.Unlock()
	if err == nil {
		if _, err = f.WriteAt(b, size); err == nil {
			err = s.sync(f)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	if err != nil {
		s.abandon(size)
		return nil, fmt.Errorf("write to the spool: %w", err)
	}
	s.segments[len(s.segments)-1].size += int64(len(b))
	s.bytes += int64(len(b))
	s.records += n
	return outcomes, nil
}

// activate returns the file to write to, and where; the caller holds mu.
func (s *Spool) activate() (*os.File, int64, error) {
	if s.active != nil {
		if size := s.segments[len(s.segments)-1].size; size < s.o.SegmentBytes {
			return s.active, size, nil
		}
		if err := s.seal(); err != nil {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(s.path(s.last+1), os.O_CREATE|os.O_EXCL|os.O_RDWR, private)
	if err != nil {
		return nil, 0, err
	}
	// The name has to be on disk before a record in the file counts as stored.
	if err := s.syncDir(s.dir); err != nil {
		return nil, 0, errors.Join(err, f.Close(), removeFile(s.path(s.last+1)))
	}
	s.last++
	s.segments = append(s.segments, segment{number: s.last})
	s.active = f
	return f, 0, nil
}

// abandon ends the active segment after a failed write: what the disk has of a file whose sync failed is not known, so
// it gets no more records. Without the truncation a later Open could find some of the records, which is allowed.
func (s *Spool) abandon(size int64) {
	if s.active != nil {
		_ = s.active.Truncate(size)
		_ = s.seal()
	}
}

// seal closes the active segment; the caller holds mu.
func (s *Spool) seal() error {
	f := s.active
	s.active = nil
	return f.Close()
}

// Stats describes the waiting records.
type Stats struct {
	Records int   // that wait
	Bytes   int64 // of them, with their headers
	Limit   int64 // of Bytes
	// Damaged are the pieces set aside since Open.
	Damaged []Damage
}

// Stats returns the present state.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{s.records, s.bytes, s.o.MaxBytes, append([]Damage(nil), s.damage...)}
}

// Close releases the directory; waiting records stay there. Later calls, and writes that have not begun, fail with
// ErrClosed. A second call does nothing.
func (s *Spool) Close() error {
	// A running write finishes first, since this is a call of the same group.
	_, err := s.writes.Do(context.Background(), nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if err == nil && s.active != nil {
		err = s.seal()
	}
	return errors.Join(err, s.cursorFile.Close(), s.lock.Close())
}

package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	suffix     = ".seg"
	cursorName = "cursor"
	lockName   = "lock"
	damagedDir = "damaged"
	private    = 0o600 // records have payloads, which other users must not read
	privateDir = 0o700
)

// segment is a file of records.
type segment struct {
	number uint64
	size   int64 // of whole, synced records
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", number, suffix))
}

// segmentNumbers lists the segments of a directory, the oldest first.
func segmentNumbers(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.ParseUint(text, 16, 64); ok && err == nil && len(text) == 16 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

type position struct {
	segment uint64
	offset  int64
}

// openCursor reads the position of the reader: the beginning if the file has none. The file is not synced, because
// reading a record twice is harmless: after a crash it may be old, or half-written, which its checksum shows.
func (s *Spool) openCursor() error {
	f, err := os.OpenFile(filepath.Join(s.dir, cursorName), os.O_CREATE|os.O_RDWR, private)
	if err != nil {
		return err
	}
	s.cursorFile = f
	b := make([]byte, 20)
	if _, err := f.ReadAt(b, 0); err == nil && binary.BigEndian.Uint32(b[16:]) == crc32.Checksum(b[:16], castagnoli) {
		s.cursor = position{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))}
	}
	s.written = s.cursor
	return nil
}

func (s *Spool) writeCursor(p position) error {
	b := binary.BigEndian.AppendUint64(nil, p.segment)
	b = binary.BigEndian.AppendUint64(b, uint64(p.offset))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := s.cursorFile.WriteAt(b, 0)
	return err
}

// setAside keeps damaged bytes in a separate file, on disk at its return. After a crash between this and the repair it
// runs again and writes the same file.
func (s *Spool) setAside(number uint64, offset int64, b []byte) (string, error) {
	dir := filepath.Join(s.dir, damagedDir)
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%016x-%d", number, offset))
	if err := s.writeSynced(path, b); err != nil {
		return "", err
	}
	return path, errors.Join(s.syncDir(dir), s.syncDir(s.dir))
}

func (s *Spool) writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, private)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, s.sync(f), f.Close())
}

func (s *Spool) syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.sync(f), f.Close())
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

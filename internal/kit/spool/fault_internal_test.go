package spool

import (
	"context"
	"errors"
	"os"
	"testing"
)

// TestFailedSync: a failed sync fails its callers, their records are not read, and the next write goes to a new file.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // the test's directory
	ctx, full := context.Background(), errors.New("no space left on device")
	if err := s.Append(ctx, []byte("1")); err != nil {
		t.Fatal(err)
	}
	s.sync = func(*os.File) error { return full }
	if err := s.Append(ctx, []byte("2")); !errors.Is(err, full) {
		t.Errorf("Append: %v", err)
	}
	s.sync = (*os.File).Sync
	if err := s.Append(ctx, []byte("3")); err != nil {
		t.Fatal(err)
	}
	check := func(s *Spool) {
		t.Helper()
		list, err := s.Read(10, 100)
		if err != nil || len(list) != 2 || string(list[0]) != "1" || string(list[1]) != "3" {
			t.Errorf("read %q, %v", list, err)
		}
	}
	check(s)
	if len(s.segments) != 2 {
		t.Errorf("there are %d segments", len(s.segments))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, r, err := Open(dir, Options{})
	if err != nil || r.Records != 2 || len(r.Damaged) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	defer again.Close()
	check(again)
}

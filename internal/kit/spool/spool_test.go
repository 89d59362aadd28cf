package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/kit/spool"
)

func open(t testing.TB, dir string, o spool.Options) (*spool.Spool, spool.Recovery) {
	t.Helper()
	s, r, err := spool.OpenUnsynced(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, r
}

func add(t testing.TB, s *spool.Spool, records ...string) {
	t.Helper()
	for _, r := range records {
		if err := s.Append(context.Background(), []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

func drain(t testing.TB, s *spool.Spool, n int) []string {
	t.Helper()
	list, err := s.Read(n, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = string(r)
	}
	if err := s.Done(len(list)); err != nil {
		t.Fatal(err)
	}
	return out
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %.300q, want %.300q", what, got, want)
	}
}

func TestOrderAndRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, spool.Options{SegmentBytes: 50})
	add(t, s, "1", "", "3\x00\xff", strings.Repeat("4", 100), "5")
	want(t, "first", drain(t, s, 2), "1", "")
	list, err := s.Read(10, 1)
	if err != nil || len(list) != 1 {
		t.Errorf("Read with a small bound: %d records, %v", len(list), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), []byte("x")); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
	s, r := open(t, dir, spool.Options{})
	if r.Records != 3 || r.Torn != 0 || len(r.Damaged) != 0 {
		t.Errorf("recovered %+v", r)
	}
	add(t, s, "6")
	want(t, "rest", drain(t, s, 10), "3\x00\xff", strings.Repeat("4", 100), "5", "6")
	want(t, "nothing", drain(t, s, 10))
	if st := s.Stats(); st.Records != 0 || st.Bytes != 0 {
		t.Errorf("%+v", st)
	}
	// An empty spool takes no space, and the next record does not get the number of an old file.
	if left, _ := filepath.Glob(filepath.Join(dir, "*.seg")); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
	s.Close()
	s, _ = open(t, dir, spool.Options{})
	add(t, s, "7")
	want(t, "after that", drain(t, s, 10), "7")
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir(), spool.Options{MaxBytes: 3 * 20, SegmentBytes: 40})
	add(t, s, "aaaa", "bbbb")
	var full *spool.FullError
	if err := s.Append(t.Context(), []byte("c"), []byte("dddd")); !errors.As(err, &full) || full.Limit != 60 {
		t.Errorf("Append of too much: %v", err)
	}
	add(t, s, "eeee")
	if err := s.Append(t.Context(), []byte("f")); !errors.As(err, &full) || full.Bytes != 60 {
		t.Errorf("Append to a full spool: %v", err)
	}
	want(t, "one", drain(t, s, 1), "aaaa")
	add(t, s, "gggg")
	want(t, "all", drain(t, s, 9), "bbbb", "eeee", "gggg")
	if err := s.Append(t.Context(), make([]byte, spool.MaxRecord+1)); !errors.Is(err, spool.ErrTooLarge) {
		t.Errorf("Append of a huge record: %v", err)
	}
	if err := s.Done(1); err == nil {
		t.Error("a record was dropped that was not read")
	}
}

func TestOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, spool.Options{})
	if _, _, err := spool.Open(dir, spool.Options{}); !errors.Is(err, spool.ErrLocked) {
		t.Errorf("a second spool: %v", err)
	}
	s.Close()
	open(t, dir, spool.Options{})
}

// TestConcurrent: with several writers and one reader, each record arrives once, in the order of its writer.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s, _, err := spool.Open(t.TempDir(), spool.Options{SegmentBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // the test's directory
	const writers, each = 8, 100
	var group sync.WaitGroup
	defer group.Wait()
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if err := s.Append(context.Background(), fmt.Appendf(nil, "%d %d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [writers]int
	for got := 0; got < writers*each && !t.Failed(); {
		for _, r := range drain(t, s, 7) {
			var w, i int
			if _, err := fmt.Sscan(r, &w, &i); err != nil || i != next[w] {
				t.Fatalf("%q after %d of its writer, %v", r, next[w], err)
			}
			next[w]++
			got++
		}
	}
	group.Wait()
}

// TestModel compares a spool, with restarts, to a slice.
func TestModel(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(home, "")
		if err != nil {
			t.Fatal(err)
		}
		o := spool.Options{SegmentBytes: rapid.Int64Range(1, 200).Draw(t, "segment"), MaxBytes: 1000}
		s, _, err := spool.OpenUnsynced(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		var model []string
		size := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				list := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 60), 1, 4).Draw(t, "records")
				n := int64(0)
				for _, r := range list {
					n += int64(len(r)) + 16
				}
				err := s.Append(context.Background(), list...)
				var full *spool.FullError
				if fits := size+n <= 1000; fits != (err == nil) || err != nil && !errors.As(err, &full) {
					t.Fatalf("Append of %d to %d bytes: %v", n, size, err)
				}
				if err == nil {
					size += n
					for _, r := range list {
						model = append(model, string(r))
					}
				}
			},
			"drain": func(t *rapid.T) {
				list, err := s.Read(rapid.IntRange(1, 6).Draw(t, "max"), rapid.Int64Range(0, 300).Draw(t, "bytes"))
				if err != nil || (len(list) == 0) != (len(model) == 0) {
					t.Fatalf("Read %d of %d, %v", len(list), len(model), err)
				}
				for i, r := range list {
					if string(r) != model[i] {
						t.Fatalf("record %d is %q, want %q", i, r, model[i])
					}
				}
				n := rapid.IntRange(0, len(list)).Draw(t, "done")
				for _, r := range model[:n] {
					size -= int64(len(r)) + 16
				}
				model = model[n:]
				if err := s.Done(n); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				var r spool.Recovery
				if s, r, err = spool.OpenUnsynced(dir, o); err != nil {
					t.Fatal(err)
				}
				if r.Records != len(model) || r.Bytes != size || r.Torn != 0 || len(r.Damaged) != 0 {
					t.Fatalf("recovered %+v, want %d records, %d bytes", r, len(model), size)
				}
			},
			"": func(t *rapid.T) {
				if st := s.Stats(); st.Records != len(model) || st.Bytes != size {
					t.Fatalf("%+v, want %d records, %d bytes", st, len(model), size)
				}
			},
		})
	})
}

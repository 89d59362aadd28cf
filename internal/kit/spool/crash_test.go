package spool_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/spool"
)

func onlySegment(t testing.TB, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(list) != 1 {
		t.Fatalf("segments %v, %v", list, err)
	}
	return list[0]
}

func written(t testing.TB, records ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	s, _ := open(t, dir, spool.Options{})
	add(t, s, records...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(onlySegment(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func with(t testing.TB, b []byte) (*spool.Spool, spool.Recovery, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000000000000001.seg"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, r, err := spool.OpenUnsynced(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, r, dir
}

// TestCutAnywhere: after a crash in the last write, exactly the records before it are there, and the spool continues.
// The file system may have zeros at the rest.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	records := []string{"first", "", "the third\x00\x00", "the last"}
	b := written(t, records...)
	ends := []int{0}
	for _, r := range records {
		ends = append(ends, ends[len(ends)-1]+16+len(r))
	}
	for cut := range len(b) + 1 {
		whole := 0
		for whole < len(records) && ends[whole+1] <= cut {
			whole++
		}
		for _, zeros := range []int{0, 1, 5000} {
			s, r, _ := with(t, append(bytes.Clone(b[:cut]), make([]byte, zeros)...))
			// Zeros may be exactly the missing bytes.
			got := whole
			if zeros > 0 && r.Records > whole {
				got = r.Records
				if rest := b[cut:ends[got]]; len(rest) > zeros || !bytes.Equal(rest, make([]byte, len(rest))) {
					t.Fatalf("cut at %d: %d records", cut, r.Records)
				}
			}
			if r.Records != got || r.Torn != int64(cut+zeros-ends[got]) || len(r.Damaged) != 0 {
				t.Fatalf("cut at %d, %d zeros: %+v, want %d records", cut, zeros, r, got)
			}
			add(t, s, "new")
			want(t, fmt.Sprint("cut at ", cut), drain(t, s, 10), append(records[:got:got], "new")...)
			s.Close()
		}
	}
}

// TestDamageAnywhere: a changed byte costs only its record, and the damaged bytes are kept.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	records := []string{"first", "second", "third"}
	b := written(t, records...)
	for at := range b {
		bad := bytes.Clone(b)
		bad[at] ^= 0x55
		hit := 0
		for end := 16 + len(records[0]); at >= end; end += 16 + len(records[hit]) {
			hit++
		}
		s, r, _ := with(t, bad)
		var left []string
		for i, text := range records {
			if i != hit {
				left = append(left, text)
			}
		}
		if r.Records != 2 || r.Torn != 0 || len(r.Damaged) != 1 {
			t.Fatalf("byte %d: %+v", at, r)
		}
		kept, err := os.ReadFile(r.Damaged[0].Path)
		if start := int(r.Damaged[0].Offset); err != nil || !bytes.Equal(kept, bad[start:start+16+len(records[hit])]) {
			t.Fatalf("byte %d: kept %q, %v", at, kept, err)
		}
		want(t, fmt.Sprint("byte ", at), drain(t, s, 10), left...)
		if st := s.Stats(); st.Records != 0 || st.Bytes != 0 {
			t.Fatalf("byte %d: %+v", at, st)
		}
		s.Close()
	}
}

// TestDamageWhileOpen: damage after Open is set aside at the read.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, spool.Options{})
	add(t, s, "first", "second", "third")
	path := onlySegment(t, dir)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{21 + 17, 43 + 17} { // in the second, and in the third
		b[at] ^= 1
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "read", drain(t, s, 10), "first")
	want(t, "read again", drain(t, s, 10))
	if st := s.Stats(); st.Records != 0 || st.Bytes != 0 || len(st.Damaged) != 1 || st.Damaged[0].Bytes != 22+21 {
		t.Errorf("%+v", st)
	}
	add(t, s, "fourth")
	want(t, "after it", drain(t, s, 10), "fourth")
}

// TestCursor: without a sound cursor file, all records of the files are read again; none is missed.
func TestCursor(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{-1, 0, 5, 19} {
		dir := t.TempDir()
		s, _ := open(t, dir, spool.Options{})
		add(t, s, "1", "2", "3")
		want(t, "first", drain(t, s, 1), "1")
		s.Close()
		path := filepath.Join(dir, "cursor")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if cut < 0 {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, b[:cut], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, _ = open(t, dir, spool.Options{})
		want(t, "all again", drain(t, s, 10), "1", "2", "3")
	}
}

// FuzzOpen: a directory with any segment can be opened and read, and every byte is a record, cut off or kept.
func FuzzOpen(f *testing.F) {
	b := written(f, "first", "second")
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add(append([]byte("\x00\x00garbage"), b...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, r, _ := with(t, b)
		total := r.Torn
		for _, d := range r.Damaged {
			total += d.Bytes
		}
		records := drain(t, s, 1<<20)
		for _, data := range records {
			total += 16 + int64(len(data))
		}
		if len(records) != r.Records || total != int64(len(b)) {
			t.Errorf("%d records of %d, %d bytes of %d: %+v", len(records), r.Records, total, len(b), r)
		}
		s.Close()
	})
}

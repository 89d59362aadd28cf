package page

import (
	"math"
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(999), "999"}, {Number(1248), "1\u202f248"},
		{Number(int64(-1234567)), "−1\u202f234\u202f567"},
		{Number(0.5), "0.50"}, {Number(12.34), "12.3"}, {Number(1234.5), "1\u202f235"}, {Number(math.NaN()), "–"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(5 << 30), "5.0 GiB"},
		{Span(0), "0 s"}, {Span(time.Microsecond), "< 1 ms"}, {Span(340 * time.Millisecond), "340 ms"},
		{Span(2500 * time.Millisecond), "2.5 s"}, {Span(90 * time.Second), "1 min 30 s"}, {Span(2 * time.Hour), "2 h"},
		{Span(76 * time.Hour), "3 d 4 h"}, {Span(-time.Minute), "−1 min"},
		{Plural(1, "letter"), "1 letter"}, {Plural(int64(2), "letter"), "2 letters"}, {Plural(3, "one", "ones"), "3 ones"},
		{short("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70"), "2d5e6f70"}, {short("abc"), "abc"},
		{cut("äöü", 3), "ä…"}, {cut("abc", 3), "abc"}, {cut("äbc", 1), "…"},
		{relative(0), "now"}, {relative(59 * time.Second), "59 s ago"}, {relative(-5 * time.Minute), "in 5 min"},
		{relative(47 * time.Hour), "47 h ago"}, {relative(49 * time.Hour), "2 d ago"},
		{JSON([]byte(`{"a":12345678901234567890,"b":1.0}`)), "{\n  \"a\": 12345678901234567890,\n  \"b\": 1.0\n}"},
		{JSON([]byte(`not json`)), "not json"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestCells: a spreadsheet takes no cell for a formula.
func TestCells(t *testing.T) {
	t.Parallel()
	got := plainCells([]string{"=1+1", "+1", "-1", "@x", "\tx", "x=1", ""})
	for i, want := range []string{"'=1+1", "'+1", "'-1", "'@x", "'\tx", "x=1", ""} {
		if got[i] != want {
			t.Errorf("got %q, want %q", got[i], want)
		}
	}
}

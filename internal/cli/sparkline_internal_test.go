package cli

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters"
)

func TestSparkline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 8, 59, 0, 0, time.UTC)
	hour := func(back int, n int64) deadletters.Hour {
		return deadletters.Hour{At: now.Truncate(time.Hour).Add(-time.Duration(back) * time.Hour), Failures: n}
	}
	for name, c := range map[string]struct {
		hours []deadletters.Hour
		want  string
	}{
		"None":      {nil, "························"},
		"Now":       {[]deadletters.Hour{hour(0, 1)}, "·······················█"},
		"First":     {[]deadletters.Hour{hour(23, 1)}, "█·······················"},
		"TooOld":    {[]deadletters.Hour{hour(24, 9), hour(1, 1)}, "······················█·"},
		"Future":    {[]deadletters.Hour{hour(-1, 9)}, "························"},
		"Heights":   {[]deadletters.Hour{hour(2, 1), hour(1, 4), hour(0, 1_000_000)}, "·····················▁▁█"},
		"HalfFull":  {[]deadletters.Hour{hour(1, 50), hour(0, 100)}, "······················▄█"},
		"SameTwice": {[]deadletters.Hour{hour(0, 1), hour(0, 1), hour(1, 2)}, "······················██"},
	} {
		if got := sparkline(c.hours, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]int{
		"[░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░]   0%": {0, 10},
		"[███████████████░░░░░░░░░░░░░░░]  50%": {5, 10},
		"[██████████████████████████████] 100%": {10, 10},
	} {
		if got := progressBar(c[0], c[1]); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
	full := "[██████████████████████████████] 100%"
	if got := progressBar(0, 0); got != full {
		t.Errorf("of nothing: %s", got)
	}
	if got := progressBar(12, 10); got != full {
		t.Errorf("of more than all: %s", got)
	}
}

package bench

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// TestSoak: the load runs, tasks fail and are resolved, and every minute is measured, but growth is not judged.
func TestSoak(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "b.db"), "PostgreSQL": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if dsn == "" {
				dsn = pgtest.DSN(t)
			}
			told := 0
			opts := Options{DB: dsn, Mode: Soak, Minutes: 3, Rate: 500, Workers: 20,
				EachMinute: func(SoakMinute) { told++ }}.withDefaults()
			r, err := runSoak(t.Context(), opts, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if r.Soak == nil || len(r.Soak.Minutes) != 3 || told != 3 || r.Soak.WarmUp != 1 {
				t.Fatalf("%d minutes told, and the report is %+v", told, r.Soak)
			}
			tasks := 0
			for _, m := range r.Soak.Minutes {
				tasks += m.Tasks
				if m.HeapBytes <= 0 || m.Goroutines <= 0 || m.DatabaseBytes <= 0 || len(m.Relations) < 10 {
					t.Errorf("%+v", m)
				}
			}
			if tasks == 0 {
				t.Error("no task was completed")
			}
		})
	}
}

func TestSoakVerdict(t *testing.T) {
	t.Parallel()
	steady := SoakMinute{Tasks: 1, HeapBytes: 50 << 20, RSSBytes: 200 << 20, Goroutines: 50, DatabaseBytes: 100 << 20,
		DeadRows: 50_000, P99: 40_000}
	for name, test := range map[string]struct {
		change func(i int, m *SoakMinute)
		want   string
	}{
		"Steady":    {func(int, *SoakMinute) {}, ""},
		"WarmUp":    {func(i int, m *SoakMinute) { m.HeapBytes /= 1 + int64(max(0, 3-i)) }, ""},
		"OneSlow":   {func(i int, m *SoakMinute) { m.P99 *= 1 + 9*int64(i/8) }, ""},
		"SmallHeap": {func(i int, m *SoakMinute) { m.HeapBytes = int64(i) << 18 }, ""},
		"Leak":      {func(i int, m *SoakMinute) { m.HeapBytes += int64(i) << 21 }, "live heap grew from 56.0 to 64.0 MiB"},
		"Database": {func(i int, m *SoakMinute) { m.DatabaseBytes += int64(i) << 22 },
			"database grew from 112.0 to 128.0 MiB"},
		"Goroutines":  {func(i int, m *SoakMinute) { m.Goroutines += 10 * i }, "goroutines grew from 80.0 to 120.0"},
		"NothingDone": {func(_ int, m *SoakMinute) { m.Tasks = 0 }, "no task was completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := SoakReport{WarmUp: 3}
			for i := range 9 {
				m := steady
				test.change(i, &m)
				r.Minutes = append(r.Minutes, m)
			}
			r.judge()
			if got := strings.Join(r.Grew, "; "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

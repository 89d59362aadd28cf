package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// soakShown bounds the relations on a line.
const soakShown = 8

// printSoakMinute prints a line per minute as progress, without a table, whose columns would depend on the last
// row.
func (s *session) printSoakMinute(m bench.SoakMinute) {
	largest := m.Relations[:min(soakShown, len(m.Relations))]
	names := make([]string, len(largest))
	for i, r := range largest {
		names[i] = fmt.Sprintf("%s %s", strings.TrimPrefix(r.Name, "tasker_"), mebibytes(r.Bytes))
	}
	_ = s.printf("%3d min  %6d tasks  p50 %.1f ms  p99 %.1f ms  heap %s  rss %s  %d goroutines  database %s  %d dead rows\n"+
		"         %s\n", m.Minute, m.Tasks, float64(m.P50)/1000, float64(m.P99)/1000, mebibytes(m.HeapBytes),
		mebibytes(m.RSSBytes), m.Goroutines, mebibytes(m.DatabaseBytes), m.DeadRows, strings.Join(names, ", "))
}

// soaked prints the end of a soak. Growth is a failure.
func (s *session) soaked(r *bench.Report) error {
	if s.json {
		if err := s.printJSONLine(r); err != nil {
			return err
		}
	}
	if len(r.Soak.Grew) > 0 {
		return errors.New(strings.Join(r.Soak.Grew, "; "))
	}
	if s.json {
		return nil
	}
	return s.printf("\npassed: nothing grew by more than a tenth after %s\n", wording.Count(r.Soak.WarmUp, "minute"))
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

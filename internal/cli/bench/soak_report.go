package bench

import (
	"fmt"
	"strings"
)

// SoakReport is the result of a soak.
type SoakReport struct {
	Rate    int          `json:"rate"`    // tasks/s
	WarmUp  int          `json:"warm_up"` // unjudged minutes
	Minutes []SoakMinute `json:"minutes"`
	// Grew names measures that grew by more than a tenth after the warm-up; empty: passed.
	Grew []string `json:"grew,omitempty"`
}

// SoakMinute is the state at the end of a minute. Times are of the minute's single-attempt tasks.
type SoakMinute struct {
	Minute        int            `json:"minute"`
	Tasks         int            `json:"tasks"`
	Behind        int64          `json:"behind"` // due tasks that were not submitted
	P50           int64          `json:"p50_us"` // from submission to acknowledged result
	P99           int64          `json:"p99_us"`
	HeapBytes     int64          `json:"heap_bytes"` // in use after a collection
	RSSBytes      int64          `json:"rss_bytes"`
	Goroutines    int            `json:"goroutines"`
	DatabaseBytes int64          `json:"database_bytes"`
	DeadRows      int64          `json:"dead_rows"`
	Relations     []SoakRelation `json:"relations"` // largest first
}

// SoakRelation is the size of a table without its indexes, or of an index.
type SoakRelation struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	DeadRows int64  `json:"dead_rows,omitempty"`
}

// soakMeasures may each grow by a tenth, or by their slack, which is noise.
var soakMeasures = []struct {
	name, unit string
	slack      float64
	of         func(SoakMinute) float64
}{
	{"live heap", "MiB", 4, func(m SoakMinute) float64 { return float64(m.HeapBytes) / (1 << 20) }},
	{"resident memory", "MiB", 16, func(m SoakMinute) float64 { return float64(m.RSSBytes) / (1 << 20) }},
	{"goroutines", "", 10, func(m SoakMinute) float64 { return float64(m.Goroutines) }},
	{"database", "MiB", 4, func(m SoakMinute) float64 { return float64(m.DatabaseBytes) / (1 << 20) }},
	{"dead rows", "", 20_000, func(m SoakMinute) float64 { return float64(m.DeadRows) }},
	{"p99", "ms", 10, func(m SoakMinute) float64 { return float64(m.P99) / 1000 }},
}

// soakWarmUp is a third of the minutes, at most ten.
func soakWarmUp(minutes int) int { return min(minutes/3, 10) }

// judge compares the lowest figures of the first and last third after the warm-up: a leak raises the minimum, while
// other work, or a pending vacuum, raises only some values.
func (r *SoakReport) judge() {
	rest := r.Minutes[r.WarmUp:]
	third := max(len(rest)/3, 1)
	for _, m := range soakMeasures {
		was, is := lowest(rest[:third], m.of), lowest(rest[len(rest)-third:], m.of)
		if is > was*1.1 && is > was+m.slack {
			r.Grew = append(r.Grew, strings.TrimSpace(fmt.Sprintf("%s grew from %.1f to %.1f %s", m.name, was, is, m.unit)))
		}
	}
	done := 0
	for _, m := range r.Minutes {
		done += m.Tasks
	}
	if done == 0 {
		r.Grew = append(r.Grew, "no task was completed")
	}
}

func lowest(minutes []SoakMinute, of func(SoakMinute) float64) float64 {
	low := of(minutes[0])
	for _, m := range minutes[1:] {
		low = min(low, of(m))
	}
	return low
}

package main

import (
	"testing"
	"time"
)

// 100 tasks per second for ten seconds, then 50 for ten.
func TestPinnedReport(t *testing.T) {
	t.Parallel()
	samples := []sample{{}, {5 * time.Second, 500}, {10 * time.Second, 1000}, {20 * time.Second, 1500}}
	p := pinnedReport(samples)
	if p.SpanS != 4 || p.First != 100 || p.Last != 50 || p.Ratio != 0.5 {
		t.Errorf("%+v", p)
	}
	if len(p.PerSecond) != runSlices || p.PerSecond[0] != 100 || p.PerSecond[4] != 100 || p.PerSecond[5] != 50 ||
		p.PerSecond[9] != 50 {
		t.Errorf("slices: %v", p.PerSecond)
	}
	long := pinnedReport([]sample{{}, {10 * time.Minute, 6000}})
	if long.SpanS != 60 || long.Ratio != 1 {
		t.Errorf("a long run compares minutes: %+v", long)
	}
}

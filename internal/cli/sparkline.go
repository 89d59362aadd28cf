package cli

import (
	"time"

	"github.com/taskerhq/tasker/deadletters"
)

// bars are heights; a dot is an hour without failures.
var bars = []rune("·▁▂▃▄▅▆▇█")

const sparkHours = 24

// sparkline draws the failures of the last 24 hours, the current one last, scaled to the highest. hours may have
// gaps and any order.
func sparkline(hours []deadletters.Hour, now time.Time) string {
	var counts [sparkHours]int64
	var highest int64
	this := now.UTC().Truncate(time.Hour)
	for _, h := range hours {
		back := int(this.Sub(h.At.UTC().Truncate(time.Hour)) / time.Hour)
		// With differing clocks an hour can seem to be in the future.
		if back < 0 || back >= sparkHours {
			continue
		}
		at := sparkHours - 1 - back
		counts[at] += h.Failures
		highest = max(highest, counts[at])
	}
	line := make([]rune, sparkHours)
	for i, n := range counts {
		height := 0
		if n > 0 {
			// Only 0 is invisible.
			height = 1 + int(float64(n)/float64(highest)*float64(len(bars)-2))
		}
		line[i] = bars[height]
	}
	return string(line)
}

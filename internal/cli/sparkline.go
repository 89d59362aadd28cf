package cli

import (
	"time"

	"github.com/taskerhq/tasker/deadletters"
)

// bars are the heights of a sparkline; a dot stands for an hour without failures.
var bars = []rune("·▁▂▃▄▅▆▇█")

// sparkHours is the length of a sparkline.
const sparkHours = 24

// sparkline draws the failures of the 24 hours until now, the current one last. The highest hour has the full height,
// so lines of different groups have different scales. hours may have gaps and any order.
func sparkline(hours []deadletters.Hour, now time.Time) string {
	var counts [sparkHours]int64
	var highest int64
	this := now.UTC().Truncate(time.Hour)
	for _, h := range hours {
		back := int(this.Sub(h.At.UTC().Truncate(time.Hour)) / time.Hour)
		// The clocks of this machine and the server may differ, so an hour can seem to be in the future.
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
			// Any failure is visible: the lowest bar stands for one of many, only 0 for none.
			height = 1 + int(float64(n)/float64(highest)*float64(len(bars)-2))
		}
		line[i] = bars[height]
	}
	return string(line)
}

package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// layouts are how conventions write times. A time without a zone is UTC, as Python's isoformat and Java's LocalDateTime
// write it.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"}

// instant reads a time: one of the layouts, or a number of seconds, milliseconds, microseconds or nanoseconds since
// 1970, whichever is plausible. It is 0 for anything else, and outside the years 1970 to 9999.
func instant(s string) task.Instant {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return 0
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return within(t)
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return since1970(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e11 { // seconds, as Python's time() has them
		return within(time.UnixMicro(int64(f * 1e6)))
	}
	return 0
}

// since1970 reads a number of seconds (below the year 5138), milliseconds (from 1973), microseconds or nanoseconds. The
// ranges do not overlap for times that a program of today can have written.
func since1970(n int64) task.Instant {
	switch {
	case n <= 0:
		return 0
	case n < 1e11:
		return within(time.Unix(n, 0))
	case n < 1e14:
		return within(time.UnixMilli(n))
	case n < 1e17:
		return within(time.UnixMicro(n))
	}
	return within(time.Unix(0, n))
}

// within returns a time of the years 1970 to 9999 as an instant, and any other as 0.
func within(t time.Time) task.Instant {
	if y := t.UTC().Year(); y < 1970 || y > 9999 {
		return 0
	}
	return task.At(t)
}

func shown(i task.Instant) string {
	if i == 0 {
		return ""
	}
	return i.Time().Format(time.RFC3339Nano)
}

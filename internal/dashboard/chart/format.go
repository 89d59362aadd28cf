package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Noun is what a chart counts, for one and for many: "failure", "failures".
type Noun struct{ One, Many string }

func (n Noun) of(count int64) string {
	if count == 1 {
		return "1 " + n.One
	}
	return group(count) + " " + n.Many
}

func group(n int64) string {
	if n < 0 {
		n = 0
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// compact writes few characters: 950, 1.2k, 34k, 5M.
func compact(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size {
			return trim(v/unit.size) + unit.name
		}
	}
	return trim(v)
}

func trim(v float64) string {
	decimals := 0
	if math.Abs(v) < 10 {
		decimals = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', decimals, 64), ".0")
}

// span writes the two largest units, such as "4 m 10 s".
func span(d time.Duration) string {
	if d < time.Second {
		if d < time.Millisecond {
			return strconv.FormatInt(d.Microseconds(), 10) + " µs"
		}
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	if d < 10*time.Second && d%time.Second != 0 {
		return trim(d.Seconds()) + " s"
	}
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, unit := range units {
		if d < unit.size {
			continue
		}
		s := fmt.Sprintf("%d %s", d/unit.size, unit.name)
		if i+1 < len(units) {
			if rest := d % unit.size / units[i+1].size; rest > 0 {
				s += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return s
	}
	return "0 s"
}

// window writes "24 h" rather than "1 d", because a day has a date.
func window(d time.Duration) string {
	if d >= time.Hour && d <= 48*time.Hour && d%time.Hour == 0 {
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return span(d)
}

// moment writes the start of a bucket, in the zone of the time.
func moment(t time.Time, step, whole time.Duration) string {
	switch {
	case step >= 24*time.Hour:
		return t.Format("2 Jan")
	case whole > 24*time.Hour:
		return t.Format("2 Jan 15:04")
	case step < time.Minute:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

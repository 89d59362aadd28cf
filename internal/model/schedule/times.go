package schedule

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a bare machine has no zones of its own

	"github.com/taskerhq/tasker/internal/model/task"
)

// Pattern is a compiled cron expression. It knows no zone: its times are in UTC and stand for readings of a wall clock.
type Pattern interface {
	// Next returns the first reading after another one that the expression matches; zero if there is none for years.
	Next(reading time.Time) time.Time
	// EveryHour reports whether the expression matches in each hour of a day.
	EveryHour() bool
}

// Parser compiles a cron expression. Its error is for the author of the expression.
type Parser func(expression string) (Pattern, error)

// Times are the times of a Spec. They are safe for concurrent use.
type Times struct {
	pattern Pattern // nil: every
	every   time.Duration
	zone    *time.Location
	start   task.Instant
	end     task.Instant
	jitter  time.Duration
	seed    string
}

// Compile returns the times of a valid Spec, or what is wrong with its expression and its zone.
func Compile(s *Spec, parse Parser) (*Times, []task.Problem) {
	t := &Times{zone: time.UTC, start: s.Start, end: s.End, jitter: s.Jitter, seed: s.Namespace + "\x00" + s.Name + "\x00"}
	var problems []task.Problem
	zone, err := time.LoadLocation(s.Zone)
	if err != nil || s.Zone == "Local" {
		problems = append(problems, task.Problem{Location: "/time_zone",
			Message: fmt.Sprintf("must be the name of a time zone, such as Europe/Berlin; %q is none", s.Zone)})
	} else {
		t.zone = zone
	}
	if interval, is := strings.CutPrefix(s.Cron, "@every "); is {
		t.every, err = time.ParseDuration(strings.TrimSpace(interval))
		if err != nil || t.every < MinEvery || t.every > MaxEvery || t.every%time.Microsecond != 0 {
			problems = append(problems, task.Problem{Location: "/cron",
				Message: fmt.Sprintf("@every must name a duration from 1s to %dh, such as 90s or 1h30m", int(MaxEvery.Hours()))})
		}
		return t, problems
	}
	if t.pattern, err = parse(s.Cron); err != nil {
		problems = append(problems, task.Problem{Location: "/cron", Message: err.Error()})
	} else if t.pattern.Next(time.Unix(0, 0).UTC()).IsZero() {
		problems = append(problems, task.Problem{Location: "/cron", Message: "has no times: there is no such day"})
	}
	return t, problems
}

// Zone is the zone of the times.
func (t *Times) Zone() *time.Location { return t.zone }

// Next returns the first time after another one; 0 if there is none.
func (t *Times) Next(after task.Instant) task.Instant {
	after = max(after, t.start-1)
	next := t.nextEvery(after)
	if t.pattern != nil {
		found := t.nextMatch(after)
		if found.IsZero() {
			return 0
		}
		next = task.At(found)
	}
	if t.end != 0 && next > t.end {
		return 0
	}
	return next
}

// nextEvery is Next for an interval. Its times are whole intervals after the start, or after 1970 without one, so that
// they depend neither on the node nor on when the schedule was saved.
func (t *Times) nextEvery(after task.Instant) task.Instant {
	if t.every == 0 {
		return 0
	}
	if after < t.start {
		return t.start
	}
	return t.start.Add((after.Sub(t.start)/t.every + 1) * t.every)
}

// maxSegments bounds how many changes of offset a search goes through. No zone has more than a handful a year.
const maxSegments = 100

// nextMatch is Next for an expression. A zone is a row of segments with one offset each, and a segment is a clock
// without changes. At the border of two segments, readings are left out or come twice: see the package comment.
func (t *Times) nextMatch(after task.Instant) time.Time {
	from := after.Time().Truncate(time.Second).Add(time.Second) // the first instant that may be the answer
	if after < 0 {
		from = time.Unix(0, 0).UTC()
	}
	for range maxSegments {
		local := from.In(t.zone)
		begin, end := segment(local)
		offset := offsetOf(local)
		found, more := t.matchFrom(from, offset)
		if !begin.IsZero() && !t.pattern.EveryHour() {
			found = t.atBorder(found, from, begin, offset)
		}
		if !found.IsZero() && (end.IsZero() || found.Before(end)) {
			return found.UTC()
		}
		if end.IsZero() || !more {
			return time.Time{}
		}
		from = end.UTC()
	}
	return time.Time{}
}

// segment returns the bounds within which a zone has the offset that it has at a time; zero for none.
func segment(local time.Time) (begin, end time.Time) {
	begin, end = local.ZoneBounds()
	if !end.IsZero() && !end.After(local) {
		// Package time gives every year 365 days beyond the transitions that a zone lists, so the last day of a leap year
		// lies behind the end of its year.
		end = local.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return begin, end
}

// atBorder corrects what was found in a segment for the readings that its beginning leaves out or repeats.
func (t *Times) atBorder(found, from, begin time.Time, offset time.Duration) time.Time {
	before := offsetOf(begin.Add(-time.Second).In(t.zone))
	changed := begin.Add((offset - before).Abs())
	switch {
	case !from.Before(changed) || offset == before:
		return found
	case offset < before: // the readings until then have fired already
		found, _ = t.matchFrom(changed, offset)
		return found
	}
	// the readings of the gap fire as if the clock had not been changed
	inGap, _ := t.matchFrom(from, before)
	if !inGap.IsZero() && inGap.Before(changed) && (found.IsZero() || inGap.Before(found)) {
		return inGap
	}
	return found
}

// matchFrom returns the first match at an instant or later, on a clock with an offset, and whether there is one.
func (t *Times) matchFrom(from time.Time, offset time.Duration) (time.Time, bool) {
	reading := t.pattern.Next(from.UTC().Add(offset - time.Second))
	if reading.IsZero() {
		return reading, false
	}
	return reading.Add(-offset), true
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// Due is when a firing for a time takes place: the time and its part of the jitter, the same on each node. It is before
// the next time: firings keep their order, and none is late because it waits for an earlier one.
func (t *Times) Due(at task.Instant) task.Instant {
	if t.jitter < time.Millisecond {
		return at
	}
	jitter := t.jitter
	if next := t.Next(at); next != 0 {
		jitter = min(jitter, next.Sub(at))
	}
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt([]byte(t.seed), int64(at), 10)) // a hash has no errors
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // FNV alone hardly changes the high bits for a last digit
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return at.Add(time.Duration((x^x>>31)%uint64(jitter/time.Millisecond)) * time.Millisecond)
}

// Between returns up to limit times after one and up to another, in order.
func (t *Times) Between(after, until task.Instant, limit int) []task.Instant {
	var list []task.Instant
	for at := t.Next(after); at != 0 && at <= until && len(list) < limit; at = t.Next(at) {
		list = append(list, at)
	}
	return list
}

// latest returns the last n times after one and up to another, in order. It looks at the end of the range first: after
// a long outage the range is long, and n is small.
func (t *Times) latest(after, until task.Instant, n int) []task.Instant {
	if n == 0 {
		return nil
	}
	for span := time.Duration(n) * time.Second; ; span *= 2 {
		from := max(after, until.Add(-span))
		var list []task.Instant
		for at := t.Next(from); at != 0 && at <= until; at = t.Next(at) {
			if list = append(list, at); len(list) >= 2*n {
				list = append(list[:0], list[len(list)-n:]...)
			}
		}
		if len(list) >= n || from == after {
			return list[max(0, len(list)-n):]
		}
	}
}

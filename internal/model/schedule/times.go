package schedule

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines without zone files

	"github.com/taskerhq/tasker/internal/model/task"
)

// Pattern is a compiled cron expression. It has no zone: its times are readings of a wall clock, as UTC.
type Pattern interface {
	// Next returns the first matching reading after reading; zero if there is none for years.
	Next(reading time.Time) time.Time
	// EveryHour reports whether it matches in each hour of a day.
	EveryHour() bool
}

// Parser compiles a cron expression. Its error is for the author.
type Parser func(expression string) (Pattern, error)

// Times are the times of a Spec. They are safe for concurrent use.
type Times struct {
	pattern Pattern // nil for an interval
	every   time.Duration
	zone    *time.Location
	start   task.Instant
	end     task.Instant
	jitter  time.Duration
	seed    string
}

// Compile returns the times of a valid Spec, or the problems of its expression and its zone.
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

// Next returns the first time after after; 0 for none.
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

// nextEvery counts intervals from the start, else from 1970, so that the times depend neither on the node nor on
// when the schedule was saved.
func (t *Times) nextEvery(after task.Instant) task.Instant {
	if t.every == 0 {
		return 0
	}
	if after < t.start {
		return t.start
	}
	return t.start.Add((after.Sub(t.start)/t.every + 1) * t.every)
}

// maxSegments bounds the changes of offset in a search. Zones have only a few a year.
const maxSegments = 100

// nextMatch treats a zone as segments of constant offset, each a clock without changes. At their borders readings
// are skipped or repeated: see the package comment.
func (t *Times) nextMatch(after task.Instant) time.Time {
	from := after.Time().Truncate(time.Second).Add(time.Second) // the earliest possible answer
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

// segment returns the bounds of the constant offset around a time; zero for none.
func segment(local time.Time) (begin, end time.Time) {
	begin, end = local.ZoneBounds()
	if !end.IsZero() && !end.After(local) {
		// Package time counts 365 days in every year beyond a zone's listed transitions, so the last day of a leap
		// year is beyond the end of its year.
		end = local.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return begin, end
}

// atBorder corrects a match for the readings that the beginning of its segment skips or repeats.
func (t *Times) atBorder(found, from, begin time.Time, offset time.Duration) time.Time {
	before := offsetOf(begin.Add(-time.Second).In(t.zone))
	changed := begin.Add((offset - before).Abs())
	switch {
	case !from.Before(changed) || offset == before:
		return found
	case offset < before: // the readings until then have fired
		found, _ = t.matchFrom(changed, offset)
		return found
	}
	// the readings of the gap fire as if the clock had not changed
	inGap, _ := t.matchFrom(from, before)
	if !inGap.IsZero() && inGap.Before(changed) && (found.IsZero() || inGap.Before(found)) {
		return inGap
	}
	return found
}

// matchFrom returns the first match at or after from on a clock with an offset.
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

// Due is the time plus its share of the jitter, the same on each node. It precedes the next time, so firings keep
// their order.
func (t *Times) Due(at task.Instant) task.Instant {
	if t.jitter < time.Millisecond {
		return at
	}
	jitter := t.jitter
	if next := t.Next(at); next != 0 {
		jitter = min(jitter, next.Sub(at))
	}
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt([]byte(t.seed), int64(at), 10)) // a hash never fails
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // FNV barely changes the high bits for a last digit
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return at.Add(time.Duration((x^x>>31)%uint64(jitter/time.Millisecond)) * time.Millisecond)
}

// Between returns up to limit times in (after, until], in order.
func (t *Times) Between(after, until task.Instant, limit int) []task.Instant {
	var list []task.Instant
	for at := t.Next(after); at != 0 && at <= until && len(list) < limit; at = t.Next(at) {
		list = append(list, at)
	}
	return list
}

// latest returns the last n times in (after, until], in order. It searches from the end, because after a long
// outage the range is long.
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

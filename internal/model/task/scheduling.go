package task

import "time"

// SchedulingMode decides how a step's wait counts against its priority.
type SchedulingMode string

const (
	// Strict counts the wait only after MaxWait.
	Strict SchedulingMode = "strict"
	// Promote counts the wait in leaps, to the next named level.
	Promote SchedulingMode = "promote"
	// Aging counts the wait continuously.
	Aging SchedulingMode = "aging"
)

// Scheduling is the order of ready steps and the only source of sort keys. A step gets its key when it becomes ready.
// In Aging all steps age at the same rate, so their order never changes; in the other modes the few that cross a
// threshold get a new key. The zero value is strict order without a bound.
type Scheduling struct {
	Mode        SchedulingMode
	AgingWeight time.Duration
	// MaxWait is the wait after which no later step precedes, at any level; 0 is never.
	MaxWait    time.Duration
	Promotions []Promotion
}

// Promotion raises a step to Level, unless its own is higher, after a wait.
type Promotion struct {
	Level int
	After time.Duration
}

// Key returns the sort key of a step when it becomes ready.
func (s Scheduling) Key(level int, ready Instant) int64 { return s.KeyAt(level, ready, ready) }

// KeyAt returns the sort key at now of a step of its level that became ready at ready.
func (s Scheduling) KeyAt(level int, ready, now Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(level)))
	}
	return StrictKey(s.banded(level, now.Sub(ready)), ready)
}

// LastKey returns the highest key in a level's band for a ready time; see KeyLevel.
func (s Scheduling) LastKey(level int, ready Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(0)))
	}
	return StrictKey(level, ready)
}

func (s Scheduling) handicap(level int) time.Duration {
	d := s.AgingWeight * time.Duration(MaxPriority-level)
	if s.MaxWait > 0 {
		d = min(d, s.MaxWait)
	}
	return d
}

func (s Scheduling) banded(level int, waited time.Duration) int {
	if s.MaxWait > 0 && waited >= s.MaxWait {
		return MaxPriority
	}
	if s.Mode == Promote {
		for _, p := range s.Promotions {
			if waited >= p.After {
				level = max(level, p.Level)
			}
		}
	}
	return level
}

// Threshold returns the wait after which steps leave a level's band for a higher one; 0 is never.
func (s Scheduling) Threshold(level int) time.Duration {
	if s.Mode == Aging || level >= MaxPriority {
		return 0
	}
	first := s.MaxWait
	if s.Mode == Promote {
		for _, p := range s.Promotions {
			if p.Level > level && (first == 0 || p.After < first) {
				first = p.After
			}
		}
	}
	return first
}

// Overtaken returns how much later a step of level by may become ready and still precede; false for unbounded. In
// bands a threshold takes effect at the next check.
func (s Scheduling) Overtaken(level, by int) (time.Duration, bool) {
	if by <= level {
		return 0, true
	}
	if s.Mode == Aging {
		return s.handicap(level) - s.handicap(by), true
	}
	first := s.MaxWait
	if s.Mode == Promote {
		for _, p := range s.Promotions {
			if p.Level >= by && (first == 0 || p.After < first) {
				first = p.After
			}
		}
	}
	return first, first > 0
}

// LongestTurn bounds the time after which ever fewer steps overtake one, with checks at an interval; 0 is unbounded.
func (s Scheduling) LongestTurn(interval time.Duration) time.Duration {
	most, bounded := s.Overtaken(0, MaxPriority)
	switch {
	case !bounded:
		return 0
	case s.Mode == Aging:
		return most
	default:
		return most + interval
	}
}

// Effective returns the level of a step that becomes ready now and has the same place, never below its own.
func (s Scheduling) Effective(st *Step, now Instant) int {
	if !st.OnRoute() {
		return st.Priority
	}
	if s.Mode != Aging {
		return max(st.Priority, KeyLevel(st.Key))
	}
	if s.AgingWeight <= 0 {
		return st.Priority
	}
	left := max(Instant(st.Key).Sub(now), 0)
	levels := int((left + s.AgingWeight - 1) / s.AgingWeight)
	return max(st.Priority, MaxPriority-min(levels, MaxPriority))
}

// Equal reports whether two orders give every step the same key.
func (s Scheduling) Equal(o Scheduling) bool {
	if s.Mode != o.Mode || s.AgingWeight != o.AgingWeight || s.MaxWait != o.MaxWait ||
		len(s.Promotions) != len(o.Promotions) {
		return false
	}
	for i, p := range s.Promotions {
		if p != o.Promotions[i] {
			return false
		}
	}
	return true
}

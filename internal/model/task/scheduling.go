package task

import "time"

// SchedulingMode is how a step's wait counts against its priority.
type SchedulingMode string

// The scheduling modes.
const (
	// Strict: the wait does not count until MaxWait is over.
	Strict SchedulingMode = "strict"
	// Promote: the wait counts in leaps, to the next named level.
	Promote SchedulingMode = "promote"
	// Aging: the wait counts continuously.
	Aging SchedulingMode = "aging"
)

// Scheduling is the order in which ready steps are leased, and the only source of sort keys. A key is computed when
// a step becomes ready and then stays: in Aging all waiting steps age at the same rate, so that the order of two steps
// never changes; in the other modes the few that cross a threshold get a new key. The zero Scheduling is strict order
// without a bound.
type Scheduling struct {
	Mode SchedulingMode
	// AgingWeight is the wait that makes up for one level. Aging only.
	AgingWeight time.Duration
	// MaxWait is the wait after which no step that becomes ready later comes first, whatever its level; 0 is never.
	MaxWait time.Duration
	// Promotions are the leaps of Promote, in any order.
	Promotions []Promotion
}

// Promotion makes a step that has waited for After count as one of Level, unless its own is higher.
type Promotion struct {
	Level int
	After time.Duration
}

// Key returns the sort key of a step of the given level that becomes ready at the given time.
func (s Scheduling) Key(level int, ready Instant) int64 { return s.KeyAt(level, ready, ready) }

// KeyAt returns the sort key at now of a step of the given own level that became ready at ready.
func (s Scheduling) KeyAt(level int, ready, now Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(level)))
	}
	return StrictKey(s.banded(level, now.Sub(ready)), ready)
}

// LastKey returns the highest possible key of a step in the band of a level that became ready at the given time; see
// KeyLevel.
func (s Scheduling) LastKey(level int, ready Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(0)))
	}
	return StrictKey(level, ready)
}

// handicap returns the delay of a step of a level behind one of the highest level that became ready at the same time.
func (s Scheduling) handicap(level int) time.Duration {
	d := s.AgingWeight * time.Duration(MaxPriority-level)
	if s.MaxWait > 0 {
		d = min(d, s.MaxWait)
	}
	return d
}

// banded returns the level of the band for a step that has waited for the given time.
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

// Threshold returns the wait after which steps leave the band of a level for a higher one; 0 if they never do.
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

// Overtaken returns the time after a step of a level became ready in which one of another level may become ready and
// still come first; false without an end. In bands a threshold takes effect with the next check for steps that have
// crossed it.
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

// LongestTurn returns the time for which a step is promised that ever fewer steps overtake it, with checks for long
// waits at the given interval; 0 without an end.
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

// Effective returns the level at which a ready step is leased now: the level of a step that becomes ready this moment
// and has the same place in the order. It is never lower than the step's own.
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

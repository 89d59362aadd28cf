package task

import "time"

// SchedulingMode says how the wait of a step counts against its priority.
type SchedulingMode string

// The modes of scheduling.
const (
	// Strict: it does not count until MaxWait is over.
	Strict SchedulingMode = "strict"
	// Promote: it counts in leaps, to the next named level.
	Promote SchedulingMode = "promote"
	// Aging: it counts all the time.
	Aging SchedulingMode = "aging"
)

// Scheduling is the order in which ready steps go out, and the one place where
// ordering keys come from. A key is computed when a step becomes ready and stays:
// in Aging everything that waits ages at the same rate, so that the order of two
// steps never changes; in the other modes the few that cross a threshold get
// another key. The zero Scheduling is strict order without a bound.
type Scheduling struct {
	Mode SchedulingMode
	// AgingWeight is how much wait makes up for one level. Aging only.
	AgingWeight time.Duration
	// MaxWait is after what time nothing that becomes ready later goes first,
	// whatever its level; 0 is never.
	MaxWait time.Duration
	// Promotions are the leaps of Promote, in any order.
	Promotions []Promotion
}

// Promotion lets a step that has waited for After count as one of Level, unless
// its own is higher.
type Promotion struct {
	Level int
	After time.Duration
}

// Key returns the ordering key of a step of a level that becomes ready at a time.
func (s Scheduling) Key(level int, ready Instant) int64 { return s.KeyAt(level, ready, ready) }

// KeyAt returns the ordering key that a step has to have at a time, of its own
// level, that has been ready since another.
func (s Scheduling) KeyAt(level int, ready, now Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(level)))
	}
	return StrictKey(s.banded(level, now.Sub(ready)), ready)
}

// LastKey returns the highest key that a step can have that became ready at a
// time and stands in the band of a level; see KeyLevel.
func (s Scheduling) LastKey(level int, ready Instant) int64 {
	if s.Mode == Aging {
		return int64(ready.Add(s.handicap(0)))
	}
	return StrictKey(level, ready)
}

// handicap is how much later than one of the highest level a step of a level
// goes, if both become ready at once.
func (s Scheduling) handicap(level int) time.Duration {
	d := s.AgingWeight * time.Duration(MaxPriority-level)
	if s.MaxWait > 0 {
		d = min(d, s.MaxWait)
	}
	return d
}

// banded is the level in whose band a step belongs that has waited for a while.
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

// Threshold returns the wait after which steps leave the band of a level for a
// higher one; 0 when they never do.
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

// Overtaken returns for how long after a step of a level became ready one of another
// level may become ready and still go first; false when that has no end. In bands
// a threshold takes effect when somebody looks for those who have crossed it.
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

// LongestTurn returns for how long a step is promised that it is overtaken by ever
// fewer, where those that have waited too long are looked for at an interval; 0 when
// that has no end.
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

// Effective returns the level as which a step goes out that is ready now: of what
// level one would have to be that became ready this moment and goes at the same
// time. It is never lower than the step's own.
func (s Scheduling) Effective(st *Step, now Instant) int {
	if st.State != StepEnqueued {
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

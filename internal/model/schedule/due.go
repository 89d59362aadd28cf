package schedule

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Pause keeps a schedule from firing.
type Pause struct {
	Actor  string       `json:"actor"`
	Reason string       `json:"reason"`
	At     task.Instant `json:"at"`
	Until  task.Instant `json:"until,omitempty"` // 0: until it is resumed
}

// Schedule is a stored schedule.
type Schedule struct {
	ID   task.ID
	Spec *Spec
	// Version counts operators' changes, from 1.
	Version   int64
	CreatedAt task.Instant
	UpdatedAt task.Instant
	// Decided is the time up to which all times are decided. It never goes back, not even with the clock.
	Decided task.Instant
	// Wake is the next decision; 0: none before a change.
	Wake  task.Instant
	Pause *Pause
	// Trouble says why the last firing is delayed, "" for none.
	Trouble   string
	TroubleAt task.Instant
}

// State is the input of a decision about a schedule.
type State struct {
	Decided task.Instant
	Pause   *Pause
	Running int            // unfinished tasks of firings
	Waiting []task.Instant // firings waiting for those, in order
	Most    int            // tasks that one decision may submit; 0: the maximum
}

// The reasons of skips.
const (
	SkipMissed  = "missed"
	SkipOverlap = "overlap"
	SkipPaused  = "paused"
)

// Skip is a run of skipped times with one reason.
type Skip struct {
	Reason      string
	First, Last task.Instant
	Count       int
	Capped      bool // there are more than Count
}

// Firing is a time that fires.
type Firing struct {
	At     task.Instant
	Missed bool // made up for
}

// Decision says what happens to the due times.
type Decision struct {
	Resume  bool           // a pause has ended
	Cancel  bool           // cancel the running tasks first
	Begin   []task.Instant // waiting firings to submit now
	Fire    []Firing       // firings to submit now
	Wait    []Firing       // firings that wait
	Skip    []Skip
	Decided task.Instant
	Wake    task.Instant
}

// Idle reports whether a decision changes nothing but the time to wake.
func (d *Decision) Idle() bool {
	return !d.Resume && len(d.Begin)+len(d.Fire)+len(d.Wait)+len(d.Skip) == 0
}

const (
	// maxFire bounds the firings of one decision, which are one transaction.
	maxFire = 100
	// maxCounted bounds the counted skips.
	maxCounted = 10_000
	// waitPause is the interval of looks for the end of tasks that firings wait for.
	waitPause = time.Second
)

// Due decides about the times up to now. The spec must be valid, and times must be its own.
func Due(now task.Instant, spec *Spec, times *Times, s State) Decision {
	d := Decision{Decided: s.Decided}
	if p := s.Pause; p != nil {
		if p.Until == 0 || now < p.Until {
			d.Wake = p.Until
			return d
		}
		d.Resume = true
		d.leave(times, SkipPaused, p.Until)
	}
	candidates, full := d.candidates(now, spec, times, s.room())
	d.admit(spec.Overlap, s, candidates)
	if d.Wake = 0; full {
		d.Wake = now
	} else if next := times.Next(d.Decided); next != 0 {
		d.Wake = max(times.Due(next), now+1)
	}
	if len(s.Waiting)-len(d.Begin)+len(d.Wait) > 0 {
		if look := now.Add(waitPause); d.Wake == 0 || look < d.Wake {
			d.Wake = look
		}
	}
	return d
}

// room is the number of times that may fire beside one that waited.
func (s *State) room() int {
	if s.Most == 0 {
		return maxFire
	}
	if s.Running == 0 && len(s.Waiting) > 0 {
		return min(s.Most-1, maxFire)
	}
	return min(s.Most, maxFire)
}

// Resume skips the times of a pause that ends now.
func Resume(now task.Instant, times *Times, s State) Decision {
	d := Decision{Decided: s.Decided, Resume: true, Wake: now}
	d.leave(times, SkipPaused, now)
	return d
}

// leave skips the undecided times up to until.
func (d *Decision) leave(times *Times, reason string, until task.Instant) {
	if until <= d.Decided {
		return
	}
	list := times.Between(d.Decided, until, maxCounted+1)
	d.Decided = until
	if len(list) == 0 {
		return
	}
	s := Skip{Reason: reason, First: list[0], Last: list[len(list)-1], Count: len(list)}
	if len(list) > maxCounted {
		s.Count, s.Capped, s.Last = maxCounted, true, until
	}
	d.Skip = append(d.Skip, s)
}

// candidates skips times missed too long ago, and returns up to most times to fire without regard to overlap, and
// whether there may be more.
func (d *Decision) candidates(now task.Instant, spec *Spec, times *Times, most int) (list []Firing, full bool) {
	late := now.Add(-spec.Grace)
	// Up to here everything is late at any jitter; beyond, each time is checked.
	last := max(d.Decided, late.Add(-spec.Jitter-time.Microsecond))
	for at := times.Next(last); at != 0 && times.Due(at) < late; at = times.Next(at) {
		last = at
	}
	if last > d.Decided {
		keep := 0
		switch spec.Missed {
		case MissedOnce:
			keep = 1
		case MissedAll:
			keep = spec.MissedLimit
		}
		kept := times.latest(d.Decided, last, keep)
		if len(kept) == 0 {
			d.leave(times, SkipMissed, last)
		} else if kept[0]-1 > d.Decided {
			d.leave(times, SkipMissed, kept[0]-1)
		}
		for _, at := range kept {
			list = append(list, Firing{At: at, Missed: true})
		}
	}
	for at := times.Next(last); at != 0 && times.Due(at) <= now && len(list) < most; at = times.Next(at) {
		list = append(list, Firing{At: at})
	}
	if full = len(list) >= most; full {
		list = list[:most]
	}
	if len(list) > 0 {
		d.Decided = list[len(list)-1].At
	}
	return list, full
}

func (d *Decision) admit(policy Overlap, s State, candidates []Firing) {
	running, waiting := s.Running, slices.Clone(s.Waiting)
	if running == 0 && len(waiting) > 0 {
		d.Begin, waiting, running = waiting[:1:1], waiting[1:], 1
	}
	for i, f := range candidates {
		switch {
		case policy == OverlapAllow, running == 0 && len(waiting) == 0:
			if policy == OverlapCancel && i < len(candidates)-1 {
				d.overlapping(f) // the next one would cancel it immediately
				continue
			}
			d.Fire, running = append(d.Fire, f), running+1
		case policy == OverlapCancel:
			if i < len(candidates)-1 {
				d.overlapping(f)
				continue
			}
			d.Cancel, d.Fire = s.Running > 0, append(d.Fire, f)
		case policy == OverlapOne && len(waiting) == 0, policy == OverlapAll && len(waiting) < MaxWaiting:
			d.Wait, waiting = append(d.Wait, f), append(waiting, f.At)
		default:
			d.overlapping(f)
		}
	}
}

func (d *Decision) overlapping(f Firing) {
	if n := len(d.Skip); n > 0 && d.Skip[n-1].Reason == SkipOverlap {
		d.Skip[n-1].Last, d.Skip[n-1].Count = f.At, d.Skip[n-1].Count+1
		return
	}
	d.Skip = append(d.Skip, Skip{Reason: SkipOverlap, First: f.At, Last: f.At, Count: 1})
}

// Admit decides about times that an operator fires outside the schedule.
func Admit(policy Overlap, s State, times []task.Instant) Decision {
	list := make([]Firing, len(times))
	for i, at := range times {
		list[i] = Firing{At: at}
	}
	d := Decision{Decided: s.Decided}
	d.admit(policy, s, list)
	return d
}

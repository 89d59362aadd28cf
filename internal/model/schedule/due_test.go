package schedule_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// noPattern parses specs that have only intervals.
func noPattern(string) (schedule.Pattern, error) { return nil, errors.New("is no interval") }

func timesOf(t interface{ Fatalf(string, ...any) }, s *schedule.Spec) *schedule.Times {
	times, problems := schedule.Compile(s, noPattern)
	if problems = append(problems, s.Validate()...); len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return times
}

// world carries out the decisions about a schedule and records its times.
type world struct {
	t     *rapid.T
	spec  *schedule.Spec
	times *schedule.Times
	schedule.State
	now task.Instant

	since    task.Instant
	became   map[task.Instant]bool // times that fired or wait; true: its task was submitted
	order    []task.Instant        // of submissions
	skipped  []schedule.Skip
	catchUps int // missed firings since now last changed
}

func drawWorld(t *rapid.T) *world {
	spec := (&schedule.Spec{Namespace: "default", Name: "s", TaskType: "a",
		Cron:    rapid.SampledFrom([]string{"@every 1s", "@every 7s", "@every 1m", "@every 1h"}).Draw(t, "cron"),
		Jitter:  time.Duration(rapid.SampledFrom([]int{0, 0, 1, 30, 3600}).Draw(t, "jitter")) * time.Second,
		Overlap: rapid.SampledFrom(schedule.Overlaps).Draw(t, "overlap"),
		Missed:  rapid.SampledFrom(schedule.MissedPolicies).Draw(t, "missed"),
		Grace:   time.Duration(rapid.SampledFrom([]int{1, 60, 600}).Draw(t, "grace")) * time.Second}).WithDefaults()
	if spec.Missed == schedule.MissedAll {
		spec.MissedLimit = rapid.SampledFrom([]int{1, 3, 150, 1000}).Draw(t, "limit")
	}
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return &world{t: t, spec: spec, times: timesOf(t, spec), State: schedule.State{Decided: now}, now: now, since: now,
		became: map[task.Instant]bool{}}
}

func (w *world) submit(at task.Instant) {
	if w.became[at] {
		w.t.Fatalf("%s fires twice", at.Time())
	}
	w.became[at] = true
	w.order = append(w.order, at)
	w.Running++
}

func (w *world) decide() schedule.Decision {
	d := schedule.Due(w.now, w.spec, w.times, w.State)
	if d.Decided < w.Decided {
		w.t.Fatalf("decided went back from %s to %s", w.Decided.Time(), d.Decided.Time())
	}
	if d.Resume {
		w.Pause = nil
	}
	if d.Cancel {
		w.Running = 0
	}
	for _, at := range d.Begin {
		if len(w.Waiting) == 0 || w.Waiting[0] != at {
			w.t.Fatalf("%s begins, and %v wait", at.Time(), w.Waiting)
		}
		w.Waiting = w.Waiting[1:]
		w.submit(at)
	}
	for _, f := range slices.Concat(d.Fire, d.Wait) {
		if _, again := w.became[f.At]; again || f.At <= w.Decided || f.At > d.Decided || w.times.Due(f.At) > w.now {
			w.t.Fatalf("%s fires at %s, between %s and %s", f.At.Time(), w.now.Time(), w.Decided.Time(), d.Decided.Time())
		}
		if late := w.times.Due(f.At) < w.now.Add(-w.spec.Grace); late != f.Missed {
			w.t.Fatalf("%s fires at %s, and missed is %t", f.At.Time(), w.now.Time(), f.Missed)
		}
		if f.Missed {
			w.catchUps++
		}
	}
	for _, f := range d.Fire {
		w.submit(f.At)
	}
	for _, f := range d.Wait {
		w.became[f.At] = false
		w.Waiting = append(w.Waiting, f.At)
	}
	w.skipped = append(w.skipped, d.Skip...)
	w.Decided = d.Decided
	w.admits()
	return d
}

func (w *world) admits() {
	alone, waiting := 1, 0
	switch w.spec.Overlap {
	case schedule.OverlapAllow:
		alone = 1 << 30
	case schedule.OverlapOne:
		waiting = 1
	case schedule.OverlapAll:
		waiting = schedule.MaxWaiting
	}
	if w.Running > alone || len(w.Waiting) > waiting || !slices.IsSorted(w.Waiting) {
		w.t.Fatalf("with %s, %d run and %v wait", w.spec.Overlap, w.Running, w.Waiting)
	}
	limit := map[schedule.Missed]int{schedule.MissedSkip: 0, schedule.MissedOnce: 1,
		schedule.MissedAll: w.spec.MissedLimit}[w.spec.Missed]
	if w.catchUps > limit {
		w.t.Fatalf("with %s, %d are made up for", w.spec.Missed, w.catchUps)
	}
	if !slices.IsSorted(w.order) {
		w.t.Fatalf("the tasks are submitted in the order %v", w.order)
	}
}

// settle decides until nothing is due, and checks that no time is left.
func (w *world) settle() {
	for range 1000 {
		d := w.decide()
		if w.Pause != nil {
			if d.Wake != w.Pause.Until || w.now >= w.Pause.Until {
				w.t.Fatalf("a pause until %d wakes at %d", w.Pause.Until, d.Wake)
			}
			return
		}
		if d.Wake == w.now {
			continue // one transaction does not take all
		}
		if len(w.Waiting) > 0 && d.Wake > w.now.Add(time.Second) {
			w.t.Fatalf("%d firings wait, and it sleeps until %s", len(w.Waiting), d.Wake.Time())
		}
		if next := w.times.Next(w.Decided); w.times.Due(next) <= w.now || d.Wake <= w.now || d.Wake > w.times.Due(next) {
			w.t.Fatalf("at %s the next time is %s, and it wakes at %s", w.now.Time(), next.Time(), d.Wake.Time())
		}
		return
	}
	w.t.Fatalf("it does not come to rest")
}

// accounted checks that each time fired, waits or was skipped, exactly one of these.
func (w *world) accounted() {
	for at := range w.became {
		for _, s := range w.skipped {
			// Only a run of skips for overlap may span a firing.
			if s.Reason != schedule.SkipOverlap && s.First <= at && at <= s.Last {
				w.t.Fatalf("%s fired and is in %+v", at.Time(), s)
			}
		}
	}
	n := len(w.became)
	for _, s := range w.skipped {
		if s.Capped {
			return
		}
		n += s.Count
	}
	if want := len(w.times.Between(w.since, w.Decided, 1<<30)); n != want {
		w.t.Fatalf("%d times were decided about, and there were %d", n, want)
	}
}

// TestDue: under any policies each time fires, waits or is skipped, exactly once; only due times fire; no bound is
// exceeded; and the schedule wakes for the next time.
func TestDue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0: // a task ends
				w.Running = max(0, w.Running-1)
			case 1: // the clock goes back
				w.now = w.now.Add(-time.Duration(rapid.IntRange(1, 7200).Draw(t, "back")) * time.Second)
				w.catchUps = 0
			case 2:
				if w.Pause == nil {
					length := time.Duration(rapid.IntRange(1, 900).Draw(t, "pause")) * time.Second
					w.Pause = &schedule.Pause{At: w.now, Until: w.now.Add(length)}
				}
			default:
				most := rapid.SampledFrom([]int{2, 90, 5000}).Draw(t, "most")
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, most*1000).Draw(t, "pass")) * time.Millisecond)
				w.catchUps = 0
			}
			w.settle()
		}
		w.accounted()
	})
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom(schedule.Overlaps).Draw(t, "policy")
		s := schedule.State{Decided: 5000, Running: rapid.IntRange(0, 3).Draw(t, "running")}
		for i := range rapid.SampledFrom([]int{0, 1, 2, 999, 1000}).Draw(t, "waiting") {
			s.Waiting = append(s.Waiting, task.Instant(i+1))
		}
		before := slices.Clone(s.Waiting)
		var times []task.Instant
		for i := range rapid.IntRange(0, 10).Draw(t, "times") {
			times = append(times, task.Instant(2000+i))
		}
		d := schedule.Admit(policy, s, times)
		n := len(d.Fire) + len(d.Wait)
		for _, skip := range d.Skip {
			n += skip.Count
			if skip.Reason != schedule.SkipOverlap {
				t.Fatalf("%+v is skipped", skip)
			}
		}
		if n != len(times) || d.Decided != s.Decided || d.Resume {
			t.Fatalf("%d of %d times: %+v", n, len(times), d)
		}
		if !slices.Equal(before, s.Waiting) {
			t.Fatalf("the state was changed: %v", s.Waiting)
		}
		if wants := s.Running == 0 && len(before) > 0; wants != (len(d.Begin) == 1) {
			t.Fatalf("%d run, %d wait, and %v begin", s.Running, len(before), d.Begin)
		}
		if policy == schedule.OverlapAllow && len(d.Fire) != len(times) {
			t.Fatalf("%d of %d fire", len(d.Fire), len(times))
		}
		if policy == schedule.OverlapCancel && len(times) > 0 && (len(d.Fire) != 1 || d.Fire[0].At != times[len(times)-1]) {
			t.Fatalf("%+v fire, not the last one", d.Fire)
		}
		if d.Cancel && (policy != schedule.OverlapCancel || s.Running == 0) {
			t.Fatalf("%s cancels %d", policy, s.Running)
		}
	})
}

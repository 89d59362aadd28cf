package groups

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// foldBatch bounds the deltas of a transaction, freshBatch its new groups, and timedBatch the groups that it opens
	// by time. A capture waits for one of these at most.
	foldBatch, freshBatch, timedBatch = 2000, 500, 500
)

// Triage adds new failures to the counts of groups, and opens groups for another look: resolved ones that have failed
// since, and ignored ones at a bound. It runs in one process at a time. It alone folds counts, and opens groups in the
// same transaction: so each counted failure has its effect. It returns what it found, and whether more is due.
func (in *Sorter) Triage(ctx context.Context) (n int, more bool, err error) {
	err = in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		var sums []deadletter.Delta
		if sums, more, err = in.store.FoldDeltas(ctx, tx, foldBatch); err != nil {
			return err
		}
		fresh, err := in.store.FreshGroups(ctx, tx, freshBatch)
		if err != nil {
			return err
		}
		n, more = len(sums)+len(fresh), more || len(fresh) == freshBatch
		t := &triage{in: in, ctx: ctx, tx: tx, now: in.Now(), fresh: fresh}
		if err := t.load(sums); err != nil {
			return err
		}
		return t.tell()
	})
	if err != nil || more {
		return n, more, err
	}
	return n, false, in.elapsed(ctx)
}

type triage struct {
	in  *Sorter
	ctx context.Context
	tx  engine.Tx
	now task.Instant

	fresh  []deadletter.GroupID
	failed []deadletter.Delta // one for each failed group
	// groups are the failed ones, and those that show them: one object each.
	groups map[deadletter.GroupID]*deadletter.Group
	// hours are the failures of the last day, with merged groups. A delta counts the same before and after it is
	// folded.
	hours  map[deadletter.GroupID][]deadletter.Hour
	news   []*deadletter.Group
	events []deadletter.Event
}

func (t *triage) load(sums []deadletter.Delta) (err error) {
	for _, d := range sums {
		if d.Failures > 0 {
			t.failed = append(t.failed, d)
		}
	}
	known := map[deadletter.GroupID]bool{}
	for _, d := range t.failed {
		known[d.Group] = true
	}
	ids := slices.Sorted(maps.Keys(known))
	for _, id := range t.fresh {
		if !known[id] {
			ids = append(ids, id)
		}
	}
	if t.groups, err = t.in.store.Groups(t.ctx, t.tx, ids); err != nil {
		return err
	}
	for _, id := range t.fresh {
		if g := t.groups[id]; g != nil && !known[id] {
			t.failed = append(t.failed, deadletter.Delta{Group: id, Failures: g.Failures, At: g.LastAt})
		}
	}
	var shown []deadletter.GroupID
	for _, g := range t.groups {
		if g.MergedInto != 0 && t.groups[g.MergedInto] == nil {
			shown = append(shown, g.MergedInto)
		}
	}
	slices.Sort(shown)
	by, err := t.in.store.Groups(t.ctx, t.tx, slices.Compact(shown))
	if err != nil {
		return err
	}
	maps.Copy(t.groups, by)
	return t.loadCounts()
}

func (t *triage) loadCounts() (err error) {
	var hourly, counted []deadletter.GroupID
	for id, g := range t.groups {
		ignored := g.State == model.GroupIgnored
		if g.MayBurst(t.now) || ignored && g.Ignore.PerHour > 0 {
			hourly = append(hourly, id)
		}
		if ignored && g.Ignore.Count > 0 {
			counted = append(counted, id)
		}
	}
	if t.hours, err = t.in.store.HoursOf(t.ctx, t.tx, hourly, t.now.Add(-25*time.Hour)); err != nil {
		return err
	}
	shown, err := t.in.store.ShownFailures(t.ctx, t.tx, counted)
	for id, n := range shown {
		t.groups[id].Shown = n
	}
	return err
}

// tell applies failures to their group, and then to the group that shows it: both may be resolved or ignored.
func (t *triage) tell() error {
	for _, d := range t.failed {
		for g := t.groups[d.Group]; g != nil; g = t.groups[g.MergedInto] {
			if err := t.failedIn(g, d); err != nil {
				return err
			}
		}
	}
	for _, id := range t.fresh {
		if g := t.groups[id]; g != nil {
			t.news = append(t.news, g)
		}
	}
	slices.SortFunc(t.news, func(a, b *deadletter.Group) int { return cmp.Compare(a.ID, b.ID) })
	if err := t.in.store.SaveNews(t.ctx, t.tx, slices.Compact(t.news)); err != nil {
		return err
	}
	return t.in.Tell(t.ctx, t.tx, t.events...)
}

func (t *triage) failedIn(g *deadletter.Group, d deadletter.Delta) error {
	told := g.ToldAt
	if g.First(d, t.now) {
		t.events = append(t.events, deadletter.GroupHappened(deadletter.EventGroupNew, g, "", "", t.now))
	}
	if told != g.ToldAt {
		t.news = append(t.news, g)
	}
	if was := g.State; was != model.GroupOpen {
		e, err := t.in.noticed(t.ctx, t.tx, g, was, g.Failed(d, t.thisHour(g), t.now))
		if err != nil || len(e) > 0 {
			t.events = append(t.events, e...)
			return err
		}
	}
	hour, usual, burst := g.Burst(t.hours[g.ID], t.now)
	if burst {
		e := deadletter.GroupHappened(deadletter.EventBurst, g, "", "", t.now)
		e.Hour, e.Usual = hour, usual
		t.events, t.news = append(t.events, e), append(t.news, g)
	}
	return nil
}

func (t *triage) thisHour(g *deadletter.Group) (n int64) {
	for _, h := range t.hours[g.ID] {
		if h.At >= t.now-t.now%task.Instant(time.Hour.Microseconds()) {
			n += h.Failures
		}
	}
	return n
}

// noticed stores a change by failures or time, with a note in the group's thread. It returns the event, or none without
// a change.
func (in *Sorter) noticed(ctx context.Context, tx engine.Tx, g *deadletter.Group, was model.GroupState,
	e deadletter.GroupEvent,
) ([]deadletter.Event, error) {
	text, kind := "", deadletter.EventGroupState
	switch e {
	case deadletter.Regressed:
		kind = deadletter.EventRegression
		text = "failed again after it was resolved"
		if g.ResolvedIn != "" {
			text += " in " + g.ResolvedIn
		}
	case deadletter.IgnoreEnded:
		text = "is no longer ignored: a bound was reached"
	default:
		return nil, nil
	}
	by := desk.By{Actor: engine.System, Reason: text}
	if err := in.saveGroup(ctx, tx, g, desk.Act{Kind: string(e), By: by, To: string(g.State)}, ""); err != nil {
		return nil, err
	}
	return []deadletter.Event{deadletter.GroupHappened(kind, g, was, text, in.Now())}, nil
}

func (in *Sorter) elapsed(ctx context.Context) error {
	ids, err := in.store.Timed(ctx, in.Now(), timedBatch)
	if err != nil || len(ids) == 0 {
		return err
	}
	return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		var events []deadletter.Event
		groups, err := in.store.Groups(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if g := groups[id]; g != nil {
				was := g.State
				e, err := in.noticed(ctx, tx, g, was, g.Elapsed(in.Now()))
				if err != nil {
					return err
				}
				events = append(events, e...)
			}
		}
		return in.Tell(ctx, tx, events...)
	})
}

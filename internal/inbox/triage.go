package inbox

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	// foldBatch bounds the deltas that one transaction adds up, and tidyBatch the rows that one deletes or regroups.
	foldBatch, tidyBatch = 5000, 500
)

// Triage adds new failures to the counts of their groups, and opens the groups that must be looked at again: resolved
// ones that have failed since, and ignored ones of which a bound is reached. It must run in one process at a time. It
// returns what it found, and whether more is due.
//
// Counts are folded and groups are opened in one transaction, so no failure is counted without its effect. Deltas are
// folded here and nowhere else.
func (in *Inbox) Triage(ctx context.Context) (n int, more bool, err error) {
	err = in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		var sums []deadletter.Delta
		if sums, more, err = in.store.FoldDeltas(ctx, tx, foldBatch); err != nil {
			return err
		}
		n = len(sums)
		sums = slices.DeleteFunc(sums, func(d deadletter.Delta) bool { return d.Failures <= 0 })
		ids := make([]deadletter.GroupID, len(sums))
		for i, d := range sums {
			ids[i] = d.Group
		}
		groups, err := in.store.Groups(ctx, tx, ids)
		if err != nil {
			return err
		}
		var events []deadletter.Event
		for _, d := range sums {
			happened, err := in.failed(ctx, tx, groups, d)
			if err != nil {
				return err
			}
			events = append(events, happened...)
		}
		return in.tell(ctx, tx, events...)
	})
	if err != nil || more {
		return n, more, err
	}
	return n, false, in.elapsed(ctx)
}

// failed tells a group of its failures, and then the group that shows it: both may be resolved or ignored. It returns
// what that means. groups has the groups that are loaded; failed adds those that it loads, so that each is one object.
func (in *Inbox) failed(ctx context.Context, tx engine.Tx, groups map[deadletter.GroupID]*deadletter.Group,
	d deadletter.Delta,
) (events []deadletter.Event, err error) {
	for id := d.Group; id != 0; {
		g := groups[id]
		if g == nil {
			if g, err = in.store.Group(ctx, tx, id); err != nil || g == nil {
				return events, err
			}
			groups[id] = g
		}
		if err := in.countShown(ctx, tx, g); err != nil {
			return nil, err
		}
		happened, err := in.failedIn(ctx, tx, g, d)
		if err != nil {
			return nil, err
		}
		events = append(events, happened...)
		id = g.MergedInto
	}
	return events, nil
}

// failedIn tells one group of failures, and stores what changes.
func (in *Inbox) failedIn(ctx context.Context, tx engine.Tx, g *deadletter.Group, d deadletter.Delta) (
	events []deadletter.Event, err error,
) {
	hour, err := in.thisHour(ctx, tx, g)
	if err != nil {
		return nil, err
	}
	now, told := in.now(), g.ToldAt
	if g.First(d, now) {
		events = append(events, deadletter.GroupHappened(deadletter.EventGroupNew, g, "", "", now))
	}
	if was := g.State; was != deadletter.GroupOpen {
		e, err := in.noticed(ctx, tx, g, was, g.Failed(d, hour, now))
		if err != nil || e != nil {
			return append(events, nonNil(e)...), err
		}
	}
	burst, err := in.burst(ctx, tx, g)
	if err != nil {
		return nil, err
	}
	if events = append(events, nonNil(burst)...); burst == nil && told == g.ToldAt {
		return events, nil
	}
	return events, in.store.SaveGroup(ctx, tx, g)
}

func nonNil(e *deadletter.Event) []deadletter.Event {
	if e == nil {
		return nil
	}
	return []deadletter.Event{*e}
}

// burst returns the event of a burst, or nil.
func (in *Inbox) burst(ctx context.Context, tx engine.Tx, g *deadletter.Group) (*deadletter.Event, error) {
	now := in.now()
	if !g.MayBurst(now) {
		return nil, nil
	}
	hours, err := in.shownHours(ctx, tx, g, now.Add(-25*time.Hour))
	if err != nil {
		return nil, err
	}
	hour, usual, burst := g.Burst(hours, now)
	if !burst {
		return nil, nil
	}
	e := deadletter.GroupHappened(deadletter.EventBurst, g, "", "", now)
	e.Hour, e.Usual = hour, usual
	return &e, nil
}

// countShown sets the failures of the groups that are merged into an ignored one.
func (in *Inbox) countShown(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
	if g.State != deadletter.GroupIgnored || g.Ignore.Count == 0 {
		return nil
	}
	return in.sumShown(ctx, tx, g)
}

// sumShown sets the failures of the groups that are merged into a group.
func (in *Inbox) sumShown(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
	merged, err := in.store.Merged(ctx, tx, g.ID)
	g.Shown = 0
	for _, m := range merged {
		g.Shown += m.Failures
	}
	return err
}

// thisHour returns the failures of the current clock hour in an ignored group and those that are merged into it, with
// those that this transaction folds.
func (in *Inbox) thisHour(ctx context.Context, tx engine.Tx, g *deadletter.Group) (n int64, err error) {
	if g.State != deadletter.GroupIgnored || g.Ignore.PerHour == 0 {
		return 0, nil
	}
	now := in.now()
	hours, err := in.shownHours(ctx, tx, g, now-now%task.Instant(time.Hour.Microseconds()))
	for _, h := range hours {
		n += h.Failures
	}
	return n, err
}

// shownHours returns the failures by the hour of a group and those that are merged into it. A delta counts as much
// before it is folded as after it, so it makes no difference which of them this transaction folds.
func (in *Inbox) shownHours(ctx context.Context, tx engine.Tx, g *deadletter.Group, since task.Instant) (
	[]deadletter.Hour, error,
) {
	hours, err := in.store.HoursOf(ctx, tx, []deadletter.GroupID{g.ID}, since)
	return addHours(hours), err
}

// noticed stores a change that failures or time brought about, and notes it in the thread of the group. It returns the
// event, nil if nothing changed.
func (in *Inbox) noticed(ctx context.Context, tx engine.Tx, g *deadletter.Group, was deadletter.GroupState,
	e deadletter.GroupEvent,
) (*deadletter.Event, error) {
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
	by := By{Actor: engine.System, Reason: text}
	if err := in.saveGroup(ctx, tx, g, act{kind: string(e), by: by, to: string(g.State)}, ""); err != nil {
		return nil, err
	}
	happened := deadletter.GroupHappened(kind, g, was, text, in.now())
	return &happened, nil
}

// elapsed opens ignored groups whose time is up, up to 500 in one call. The others follow with the next turn.
func (in *Inbox) elapsed(ctx context.Context) error {
	ids, err := in.store.Timed(ctx, in.now(), tidyBatch)
	if err != nil || len(ids) == 0 {
		return err
	}
	return in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		var events []deadletter.Event
		for _, id := range ids {
			g, err := in.store.Group(ctx, tx, id)
			if err != nil {
				return err
			}
			if g == nil {
				continue
			}
			was := g.State
			e, err := in.noticed(ctx, tx, g, was, g.Elapsed(in.now()))
			if err != nil {
				return err
			}
			events = append(events, nonNil(e)...)
		}
		return in.tell(ctx, tx, events...)
	})
}

// Tidy deletes letters, events and replays whose time has come, and puts cases into groups that have none: those of an
// older database, and those that SQL opened. It must run in one process at a time.
//
// One call is one small transaction, because capture and redrives use the same database.
func (in *Inbox) Tidy(ctx context.Context) (n int, more bool, err error) {
	err = in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		purged, err := in.store.PurgeLetters(ctx, tx, in.now(), tidyBatch)
		if err != nil {
			return err
		}
		now := in.now()
		by := func(namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error) {
			return in.opts.Ruler.Print(ctx, tx, namespace, print, facts, now)
		}
		events, err := in.store.PurgeEvents(ctx, tx, in.now().Add(-eventRetention), tidyBatch)
		if err != nil {
			return err
		}
		replays, err := in.store.PurgeReplays(ctx, tx, in.now(), tidyBatch)
		if err != nil {
			return err
		}
		regrouped, err := in.store.Regroup(ctx, tx, tidyBatch, by)
		n = purged + events + replays + regrouped
		more = max(purged, events, replays, regrouped) == tidyBatch
		return err
	})
	return n, more, err
}

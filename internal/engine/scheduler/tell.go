package scheduler

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

const reasonRefused = "refused"

// tell sends one event per schedule and kind of firings, refusals, and run of skipped times: a backfill of thousands
// causes few events.
func (s *Scheduler) tell(ctx context.Context, tx engine.Tx, plans []*plan, stored []Firing, now task.Instant) error {
	var events []deadletter.Event
	for _, p := range plans {
		events = append(events, fired(p.of, stored, now)...)
		events = append(events, missed(p.of, p.decided.Skip, now)...)
	}
	if len(events) == 0 {
		return nil
	}
	return s.opts.Tell(ctx, tx, events...)
}

func fired(of *schedule.Schedule, stored []Firing, now task.Instant) (events []deadletter.Event) {
	type group struct{ kind, reason string }
	found := map[group][]Firing{}
	for _, f := range stored {
		switch {
		case f.Schedule != of.ID:
		case f.State == Running:
			found[group{kind: string(f.Kind)}] = append(found[group{kind: string(f.Kind)}], f)
		case f.State == Refused:
			found[group{reason: reasonRefused}] = append(found[group{reason: reasonRefused}], f)
		}
	}
	for g, list := range found {
		slices.SortFunc(list, func(a, b Firing) int { return cmp.Compare(a.At, b.At) })
		kind, news := deadletter.EventFired, deadletter.ScheduleNews{Kind: g.kind, Reason: g.reason, First: list[0].At,
			Last: list[len(list)-1].At}
		if g.reason != "" {
			kind = deadletter.EventMissed
		} else {
			for _, f := range list[:min(len(list), deadletter.MaxEventLetters)] {
				news.Tasks = append(news.Tasks, f.Task.String())
			}
		}
		events = append(events, deadletter.ScheduleHappened(kind, of.Spec.Namespace, of.Spec.Name, list[0].Error, len(list),
			news, now))
	}
	slices.SortFunc(events, func(a, b deadletter.Event) int {
		return cmp.Or(cmp.Compare(a.Schedule.First, b.Schedule.First), cmp.Compare(a.Schedule.Kind, b.Schedule.Kind))
	})
	return events
}

func missed(of *schedule.Schedule, skips []schedule.Skip, now task.Instant) (events []deadletter.Event) {
	for _, skip := range skips {
		events = append(events, deadletter.ScheduleHappened(deadletter.EventMissed, of.Spec.Namespace, of.Spec.Name, "",
			skip.Count, deadletter.ScheduleNews{Reason: skip.Reason, First: skip.First, Last: skip.Last}, now))
	}
	return events
}

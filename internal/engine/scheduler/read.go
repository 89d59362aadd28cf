package scheduler

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Status is a schedule with its state.
type Status struct {
	*schedule.Schedule

	Times *schedule.Times // nil for an unreadable schedule
	Next  []task.Instant
	Last  *Firing // nil before the first
}

const shownNext = 10

// Schedule returns a schedule with its next times, or NotFound.
func (s *Scheduler) Schedule(ctx context.Context, namespace, name string) (*Status, error) {
	of, err := s.found(ctx, namespace, name, By{})
	if err != nil {
		return nil, err
	}
	list, err := s.statuses(ctx, []*schedule.Schedule{of}, shownNext)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

func (s *Scheduler) statuses(ctx context.Context, list []*schedule.Schedule, next int) ([]Status, error) {
	ids := make([]task.ID, len(list))
	for i, of := range list {
		ids[i] = of.ID
	}
	last, err := s.store.LastFirings(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Status, len(list))
	for i, of := range list {
		out[i] = Status{Schedule: of, Last: last[of.ID]}
		times, err := s.timesOf(of)
		if err != nil {
			of.Trouble = err.Error()
			continue
		}
		out[i].Times = times
		from := of.Decided
		if of.Pause != nil {
			if of.Pause.Until == 0 {
				continue
			}
			from = max(from, of.Pause.Until)
		}
		out[i].Next = times.Between(from, 1<<62, next)
	}
	return out, nil
}

// Schedules returns a page by namespace and name; without a namespace, of all. Invalid: the key is limited to several
// namespaces, and none is named.
func (s *Scheduler) Schedules(ctx context.Context, f Filter) ([]Status, error) {
	if key := access.From(ctx); f.Namespace == "" && key.Limited() {
		of := key.Namespaces()
		if len(of) != 1 {
			return nil, &task.Error{Code: task.Invalid, Message: "the key is limited to several namespaces",
				Hint: "name one of them", Problems: []task.Problem{{Location: "namespace", Message: "is missing"}}}
		}
		f.Namespace = of[0]
	}
	if f.Namespace != "" && !nameable(ctx, f.Namespace, "") {
		return nil, task.Errorf(task.NotFound, "there is no namespace %q", f.Namespace)
	}
	list, err := s.store.ListSchedules(ctx, f)
	if err != nil {
		return nil, err
	}
	return s.statuses(ctx, list, 1)
}

// History is a page of a schedule's past times, latest first.
type History struct {
	Firings []Firing
	Skips   []Skip
	More    bool
}

// Before is where the next page begins.
func (h *History) Before() task.Instant {
	var before task.Instant
	if n := len(h.Firings); n > 0 {
		before = h.Firings[n-1].At
	}
	if n := len(h.Skips); n > 0 && (before == 0 || h.Skips[n-1].Last < before) {
		before = h.Skips[n-1].Last
	}
	return before
}

// History returns limit firings and skips of a schedule together before a time, 0 for all, latest first.
func (s *Scheduler) History(ctx context.Context, namespace, name string, before task.Instant, limit int) (*History,
	error,
) {
	of, err := s.found(ctx, namespace, name, By{})
	if err != nil {
		return nil, err
	}
	if before == 0 {
		before = 1 << 62
	}
	h := &History{}
	if h.Firings, err = s.store.ListFirings(ctx, of.ID, before, limit+1); err != nil {
		return nil, err
	}
	if h.Skips, err = s.store.ListSkips(ctx, of.ID, before, limit+1); err != nil {
		return nil, err
	}
	// The next page has the earliest ones of both lists. Those of one time stay together.
	var all []task.Instant
	for _, f := range h.Firings {
		all = append(all, f.At)
	}
	for _, skip := range h.Skips {
		all = append(all, skip.Last)
	}
	if len(all) <= limit {
		return h, nil
	}
	slices.Sort(all)
	h.More = true
	from := all[len(all)-limit]
	h.Firings = slices.DeleteFunc(h.Firings, func(f Firing) bool { return f.At < from })
	h.Skips = slices.DeleteFunc(h.Skips, func(skip Skip) bool { return skip.Last < from })
	return h, nil
}

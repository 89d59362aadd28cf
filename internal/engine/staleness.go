package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// stalenessWindow bounds how many live tasks a list of them looks at.
const stalenessWindow = 20_000

// Staleness returns live tasks in states that have a threshold: stale ones first,
// then those that soon will be, then the others; within each the one that has
// been in its state for longest first. It looks at a bounded number of tasks,
// those nearest to being stale before others.
func (e *Engine) Staleness(ctx context.Context, f StalenessFilter) ([]Staleness, error) {
	if err := e.checkPage(f.Limit, 0); err != nil {
		return nil, err
	}
	l := &stalenessList{e: e, f: f, now: e.instant(), near: f.Health == task.Warning || f.Health == task.Stale, seen: map[task.ID]struct{}{}}
	if err := l.fromWatches(ctx); err != nil {
		return nil, err
	}
	if err := l.fromSurvey(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(l.found, func(a, b Staleness) int {
		return cmp.Or(cmp.Compare(urgency(a.Health), urgency(b.Health)), cmp.Compare(b.InState, a.InState), slices.Compare(a.Task.ID[:], b.Task.ID[:]))
	})
	return l.found[:min(f.Limit, len(l.found))], nil
}

func urgency(h task.Health) int {
	return slices.Index([]task.Health{task.Stale, task.Warning, task.Healthy}, h)
}

// stalenessList gathers what Staleness returns.
type stalenessList struct {
	e      *Engine
	f      StalenessFilter
	now    task.Instant
	near   bool // healthy ones are not wanted
	seen   map[task.ID]struct{}
	looked int
	found  []Staleness
}

// fromWatches looks at tasks in the order in which they may be stale, until there
// are enough and what follows is healthy.
func (l *stalenessList) fromWatches(ctx context.Context) error {
	healthyFrom := l.now.Add(l.e.longestThreshold() / 100 * (100 - task.WarningPercent))
	var behind Watch
	for l.looked < stalenessWindow {
		watches, err := l.e.store.Watches(ctx, behind, math.MaxInt64, watchPage)
		if err != nil {
			return fmt.Errorf("look for stale tasks: %w", err)
		}
		tasks, err := l.e.watched(ctx, watches)
		if err != nil {
			return err
		}
		for _, w := range watches {
			if err := l.add(ctx, tasks[w.Task]); err != nil {
				return err
			}
		}
		if len(watches) < watchPage {
			return nil
		}
		behind = watches[len(watches)-1]
		if behind.At > healthyFrom && (l.near || l.enough()) {
			return nil
		}
	}
	return nil
}

// fromSurvey looks at tasks that have no watch yet, the oldest first.
func (l *stalenessList) fromSurvey(ctx context.Context) error {
	from, err := l.e.surveyed(ctx)
	if err != nil {
		return err
	}
	end := task.MakeID(math.MaxInt64>>(63-60), 0)
	if l.near {
		smallest, err := l.e.smallestThreshold(ctx)
		if err != nil {
			return err
		}
		if smallest == 0 {
			return nil // nothing is ever stale
		}
		end = l.e.surveyEdge(smallest) // behind it all are healthy
	}
	for windows := 0; windows < surveyWindows && l.looked < stalenessWindow && (windows == 0 || !l.enough()); windows++ {
		live, stop, err := l.e.store.Survey(ctx, from, end, surveyWindow)
		if err != nil {
			return fmt.Errorf("survey tasks: %w", err)
		}
		for _, t := range live {
			if err := l.add(ctx, t); err != nil {
				return err
			}
		}
		if from = stop; stop.IsZero() {
			return nil
		}
	}
	return nil
}

func (l *stalenessList) enough() bool { return len(l.found) >= l.f.Limit }

// add takes a task in if it is one that was asked for.
func (l *stalenessList) add(ctx context.Context, t *task.Task) error {
	l.looked++
	if t == nil || t.State.Settled() {
		return nil
	}
	if _, dup := l.seen[t.ID]; dup {
		return nil
	}
	l.seen[t.ID] = struct{}{}
	def, err := l.e.TemplateOf(ctx, t.DefID)
	if err != nil {
		return err
	}
	s := l.e.staleness(t, def, l.now)
	if s.Threshold > 0 && (l.f.Health == "" || s.Health == l.f.Health) && (l.f.Namespace == "" || def.Namespace == l.f.Namespace) &&
		(l.f.TaskName == "" || def.Name == l.f.TaskName) {
		l.found = append(l.found, s)
	}
	return nil
}

// longestThreshold returns the longest threshold of any state and template.
func (e *Engine) longestThreshold() time.Duration {
	t := e.cfg.StalenessThresholds
	return max(t.WaitingForDependencies, t.WaitingForRetry, t.StepsInProcess, e.lifecycles.longest())
}

// countInvestigations counts for metrics. Of tasks near to being stale it looks at
// a bounded number, as Staleness does; the others that are watched are healthy.
func (e *Engine) countInvestigations(ctx context.Context) (Investigations, error) {
	out := Investigations{Health: map[string]int{string(task.Healthy): 0, string(task.Warning): 0, string(task.Stale): 0}}
	counts, err := e.store.CountCases(ctx, CaseFilter{Status: task.CasePending})
	if err != nil {
		return out, err
	}
	for _, c := range counts {
		out.Pending += c.Cases
	}
	watched, err := e.store.CountWatches(ctx, CensusLimit)
	if err != nil {
		return out, err
	}
	l := &stalenessList{e: e, f: StalenessFilter{Limit: CensusLimit}, now: e.instant(), near: true, seen: map[task.ID]struct{}{}}
	if err := l.fromWatches(ctx); err != nil {
		return out, err
	}
	watched -= l.count(out.Health)
	l.found = nil
	// those that the detector has not met yet: its next cycle may be minutes away
	if err := l.fromSurvey(ctx); err != nil {
		return out, err
	}
	l.count(out.Health)
	out.Health[string(task.Healthy)] = max(watched, 0)
	return out, nil
}

// count adds up what was found that is not healthy, and returns how many these are.
func (l *stalenessList) count(health map[string]int) int {
	n := 0
	for _, s := range l.found {
		if s.Health != task.Healthy {
			health[string(s.Health)]++
			n++
		}
	}
	return n
}

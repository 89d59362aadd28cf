package cases

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// stalenessWindow bounds a list's memory and time. Only with more stale tasks is it incomplete.
const stalenessWindow = 20_000

// Staleness returns live tasks in states with a threshold: stale ones, soon stale ones, then others; the longest in
// its state first. It reads a bounded number of tasks. Invalid: a limit outside of 1 to Limits.PageItems.
func (e *Room) Staleness(ctx context.Context, f StalenessFilter) ([]Staleness, error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	if _, err := e.smallestThreshold(ctx); err != nil { // loads all thresholds
		return nil, err
	}
	l := &stalenessList{e: e.Kernel, tasks: e.Store, f: f, now: e.Now(), near: f.Health == task.Warning ||
		f.Health == task.Stale, seen: map[task.ID]struct{}{}}
	for _, from := range []func(context.Context) error{l.fromWatches, l.fromSurvey, l.fromDeadlines} {
		if err := from(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.found, func(a, b Staleness) int {
		return cmp.Or(cmp.Compare(urgency(a.Health), urgency(b.Health)), cmp.Compare(b.InState, a.InState),
			slices.Compare(a.Task.ID[:], b.Task.ID[:]))
	})
	return l.complete(ctx, l.found[:min(f.Limit, len(l.found))])
}

// complete applies promises of progress to healthy tasks, and drops compensating ones, only for the page: it takes
// more queries.
func (l *stalenessList) complete(ctx context.Context, page []Staleness) ([]Staleness, error) {
	tasks := make([]*task.Task, len(page))
	for i, s := range page {
		tasks[i] = s.Task
	}
	list, err := Of(l.e).staleness(ctx, tasks, true, l.now)
	return slices.DeleteFunc(list, func(s Staleness) bool { return s.Source == task.NoLimit }), err
}

func urgency(h task.Health) int {
	return slices.Index([]task.Health{task.Stale, task.Warning, task.Healthy}, h)
}

// stalenessList collects from three overlapping sources; seen removes duplicates.
type stalenessList struct {
	e      *kernel.Kernel
	tasks  kernel.ReadTasks
	f      StalenessFilter
	now    task.Instant
	near   bool // without healthy ones
	seen   map[task.ID]struct{}
	looked int
	found  []Staleness
}

// fromWatches reads tasks by possible staleness, until the rest is healthy.
func (l *stalenessList) fromWatches(ctx context.Context) error {
	healthyFrom := l.now.Add(Of(l.e).longestThreshold() / 100 * (100 - task.WarningPercent))
	var behind kernel.Watch
	for l.looked < stalenessWindow {
		watches, err := Of(l.e).watchStore.Watches(ctx, behind, math.MaxInt64, watchPage)
		if err != nil {
			return fmt.Errorf("look for stale tasks: %w", err)
		}
		tasks, err := Of(l.e).watched(ctx, watches)
		if err != nil {
			return err
		}
		live := make([]*task.Task, 0, len(watches))
		for _, w := range watches {
			live = append(live, tasks[w.Task])
		}
		if err := l.add(ctx, live); err != nil {
			return err
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

// fromSurvey reads tasks without a watch, oldest first.
func (l *stalenessList) fromSurvey(ctx context.Context) error {
	from, err := Of(l.e).surveyed(ctx)
	if err != nil {
		return err
	}
	end := task.MakeID(math.MaxInt64>>(63-60), 0)
	if l.near {
		smallest, err := Of(l.e).smallestThreshold(ctx)
		if err != nil {
			return err
		}
		if smallest == 0 {
			return nil // nothing is ever stale
		}
		end = Of(l.e).surveyEdge(smallest) // later tasks are healthy
	}
	for windows := 0; windows < surveyWindows && l.looked < stalenessWindow && (windows == 0 || !l.enough()); windows++ {
		live, stop, err := l.tasks.Survey(ctx, from, end, surveyWindow)
		if err != nil {
			return fmt.Errorf("survey tasks: %w", err)
		}
		if err := l.add(ctx, live); err != nil {
			return err
		}
		if from = stop; stop.IsZero() {
			return nil
		}
	}
	return nil
}

func (l *stalenessList) enough() bool { return len(l.found) >= l.f.Limit }

func (l *stalenessList) fromDeadlines(ctx context.Context) error {
	longest := Of(l.e).lifecycles.longestDuration()
	if longest == 0 {
		return nil
	}
	until := l.now.Add(longest / 100 * (100 - task.WarningPercent))
	tasks, err := l.tasks.Deadlines(ctx, until, stalenessWindow)
	if err != nil {
		return fmt.Errorf("look for tasks that take long: %w", err)
	}
	return l.add(ctx, tasks)
}

// add accepts nil for deleted tasks.
func (l *stalenessList) add(ctx context.Context, tasks []*task.Task) error {
	l.looked += len(tasks)
	live := make([]*task.Task, 0, len(tasks))
	for _, t := range tasks {
		if t == nil || t.State.Settled() {
			continue
		}
		if _, dup := l.seen[t.ID]; !dup {
			l.seen[t.ID] = struct{}{}
			live = append(live, t)
		}
	}
	list, err := Of(l.e).staleness(ctx, live, false, l.now)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Source != task.NoLimit && (l.f.Health == "" || s.Health == l.f.Health) &&
			(l.f.Namespace == "" || s.Template.Namespace == l.f.Namespace) &&
			(l.f.TaskName == "" || s.Template.Name == l.f.TaskName) {
			l.found = append(l.found, s)
		}
	}
	return nil
}

func (e *Room) longestThreshold() time.Duration {
	t := e.Cfg.StalenessThresholds
	return max(t.WaitingForDependencies, t.WaitingForRetry, t.StepsInProcess, e.lifecycles.longest())
}

// CountInvestigations reads a bounded number of tasks; other live tasks with a watch count as healthy.
func (e *Room) CountInvestigations(ctx context.Context) (Investigations, error) {
	out := Investigations{Health: map[string]int{string(task.Healthy): 0, string(task.Warning): 0, string(task.Stale): 0}}
	counts, err := e.CaseCounter.CountCases(ctx, kernel.CaseFilter{Status: task.CasePending})
	if err != nil {
		return out, err
	}
	for _, c := range counts {
		out.Pending += c.Cases
	}
	watched, err := e.watchStore.CountWatches(ctx, CensusLimit)
	if err != nil {
		return out, err
	}
	if _, err := e.smallestThreshold(ctx); err != nil {
		return out, err
	}
	surveyed, err := e.surveyed(ctx)
	if err != nil {
		return out, err
	}
	l := &stalenessList{e: e.Kernel, tasks: e.Store, f: StalenessFilter{Limit: CensusLimit}, now: e.Now(), near: true,
		seen: map[task.ID]struct{}{}}
	// From watches; from the survey, before the detector's next cycle; and from the deadlines of whole tasks.
	for _, from := range []func(context.Context) error{l.fromWatches, l.fromSurvey, l.fromDeadlines} {
		if err := from(ctx); err != nil {
			return out, err
		}
	}
	for _, s := range l.found {
		if s.Health == task.Healthy {
			continue
		}
		out.Health[string(s.Health)]++
		if bytes.Compare(s.Task.ID[:], surveyed[:]) <= 0 {
			watched-- // already counted with a watch
		}
	}
	out.Health[string(task.Healthy)] = max(watched, 0)
	return out, nil
}

// Investigations counts open cases, and tasks by staleness: healthy, warning, stale; without very young ones.
type Investigations struct {
	Pending int
	Health  map[string]int
}

const CensusLimit = 100_000

package figures

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TemplateStats covers the newest tasks of a template.
type TemplateStats struct {
	Template *task.Template
	Tasks    int // examined
	// Oldest and Newest are times of submission; 0 without tasks.
	Oldest, Newest              task.Instant
	Complete, Failed, Cancelled int
	Took                        Spread // of complete tasks, from submission to end
	Steps                       []StepStats
}

// StepStats covers one step of the tasks.
type StepStats struct {
	Name string
	// Begun, Complete and Failed count tasks in which the step began, is complete or resolved, or is in error.
	Begun, Complete, Failed int
	// Attempts counts executions since the last reset, FailedAttempts those that ended without completing the step.
	Attempts, FailedAttempts int
	Ran, Waited              Spread // of the last attempts
}

// Spread is the distribution of durations; 0 without any.
type Spread struct {
	P50, P95, Max time.Duration
}

// TemplateStats reads up to limit newest tasks of a version, the latest for "", and their steps. NotFound: there is
// no such template. Invalid: a limit outside of 1 to Limits.PageItems.
func (e *Room) TemplateStats(ctx context.Context, namespace, name, version string, limit int) (*TemplateStats,
	error,
) {
	if err := check.Page(limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	t, err := e.Template(ctx, namespace, name, version)
	if err != nil {
		return nil, err
	}
	out := &TemplateStats{Template: t, Steps: make([]StepStats, len(t.Steps))}
	spans := make([]struct{ ran, waited []time.Duration }, len(t.Steps))
	for i := range t.Steps {
		out.Steps[i].Name = t.Steps[i].Name
	}
	var took []time.Duration
	filter := kernel.TaskFilter{Namespace: namespace, Name: name, Version: t.Version, Limit: limit}
	for pages := 0; out.Tasks < limit && pages < statsPages; pages++ {
		tasks, below, err := e.Store.ListTasks(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list tasks of a template: %w", err)
		}
		for _, one := range tasks {
			if one.DefID != t.DefID {
				continue // registered under this version with other content
			}
			out.count(one, &took)
			steps, err := e.Store.FindSteps(ctx, one.ID)
			if err != nil {
				return nil, fmt.Errorf("read steps of a task: %w", err)
			}
			for _, s := range steps {
				if i := s.Ordinal - 1; i >= 0 && i < len(out.Steps) {
					out.Steps[i].count(s, &spans[i].ran, &spans[i].waited)
				}
			}
		}
		if below.IsZero() {
			break
		}
		filter.Below, filter.Limit = below, max(limit-out.Tasks, 1)
	}
	out.Took = spread(took)
	for i := range spans {
		out.Steps[i].Ran, out.Steps[i].Waited = spread(spans[i].ran), spread(spans[i].waited)
	}
	return out, nil
}

// statsPages bounds the pages read: they may be short, because a list examines a bounded number of rows.
const statsPages = 5

func (s *TemplateStats) count(t *task.Task, took *[]time.Duration) {
	if s.Tasks == 0 {
		s.Newest = t.CreatedAt
	}
	s.Tasks++
	s.Oldest = t.CreatedAt
	switch t.State {
	case task.Complete, task.ResolvedManually:
		s.Complete++
		if t.FinishedAt > t.CreatedAt {
			*took = append(*took, t.FinishedAt.Sub(t.CreatedAt))
		}
	case task.Errored:
		s.Failed++
	case task.Cancelled:
		s.Cancelled++
	}
}

func (s *StepStats) count(of *task.Step, ran, waited *[]time.Duration) {
	done := of.State.Done()
	if done {
		s.Complete++
	}
	if of.State == task.StepErrored {
		s.Failed++
	}
	if of.Attempts == 0 {
		return
	}
	s.Begun++
	s.Attempts += of.Attempts
	s.FailedAttempts += of.Attempts
	if of.State == task.StepComplete || of.State == task.StepInProgress {
		s.FailedAttempts--
	}
	if of.StartedAt > 0 && of.FinishedAt >= of.StartedAt {
		*ran = append(*ran, of.FinishedAt.Sub(of.StartedAt))
	}
	if of.StartedAt >= of.ReadyAt && of.ReadyAt > 0 {
		*waited = append(*waited, of.StartedAt.Sub(of.ReadyAt))
	}
}

func spread(list []time.Duration) Spread {
	slices.Sort(list)
	return Spread{P50: quantile(list, 0.5), P95: quantile(list, 0.95), Max: quantile(list, 1)}
}

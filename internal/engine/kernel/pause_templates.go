package kernel

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Templates share routes, so a pause of a template closes none. Its steps are parked when they become ready or are
// claimed; ReleasePaused returns them in batches.

func (c *closures) templatePause(t *task.Template) *task.Pause {
	if !c.templates || t == nil || t.Adhoc {
		return nil
	}
	return c.held[templateTarget(t)]
}

func templateTarget(t *task.Template) task.PauseTarget {
	return task.PauseTarget{Kind: task.PauseTemplate, Namespace: t.Namespace, Name: t.Name}
}

// TemplatePausedBy returns the pause of a template in this process, or nil. The caller must not change it.
func (e *Kernel) TemplatePausedBy(t *task.Template) *task.Pause {
	return e.Catalog.Closures.Load().templatePause(t)
}

func pausedByTemplate(u *Unit, s *task.Step) (bool, error) {
	c := u.E.Catalog.Closures.Load()
	if !c.templates {
		return false, nil
	}
	t, err := u.Rows.Template(s.DefID)
	return err == nil && c.templatePause(t) != nil, err
}

// park reports whether it parked a step. The caller saves the step.
func park(u *Unit, s *task.Step) (bool, error) {
	paused, err := pausedByTemplate(u, s)
	if err != nil || !paused {
		return false, err
	}
	return true, s.Park(task.ParkedTemplate(s.DefID), u.Order)
}

// parkPaused returns the steps that it does not park. It precedes the limits of operators, so that parked steps use
// no permits.
func (rs *readySteps) parkPaused(works []Work) (others []Work, err error) {
	u := rs.u
	if !u.E.Catalog.Closures.Load().templates {
		return works, nil
	}
	var parked []*task.Step
	for _, w := range works {
		switch is, err := park(u, w.Step); {
		case err != nil:
			return nil, err
		case is:
			parked = append(parked, w.Step)
		default:
			others = append(others, w)
		}
	}
	if parked == nil {
		return others, nil
	}
	return others, u.Tx.SaveSteps(u.Ctx, parked)
}

func PausesFeature() Feature { return Feature{Name: "pauses", queued: parkReady} }

func parkReady(u *Unit, steps []Work) error {
	if !u.E.Catalog.Closures.Load().templates {
		return nil
	}
	for _, w := range steps {
		if !w.Step.OnRoute() {
			continue
		}
		if _, err := park(u, w.Step); err != nil {
			return err
		}
	}
	return nil
}

// released holds the ends of pauses after which nothing is parked, by template.
type released map[task.PauseTarget]task.Instant

// ReleasePaused returns up to about limit parked steps of ended pauses to their routes, and their number; fewer than
// limit means that there are no more. A crash loses nothing: parked steps are found again. One process at a time
// should call it. A *due.Error lists skipped steps.
func (e *Kernel) ReleasePaused(ctx context.Context, limit int) (total int, stepped error) {
	c := e.Catalog.Closures.Load()
	for target, ended := range c.ended {
		if target.Kind != task.PauseTemplate || e.pauses.released[target] == ended {
			continue
		}
		n, err := e.releaseTemplate(ctx, target, limit-total)
		if total += n; err != nil && !due.OnlyRows(err) {
			return total, err
		}
		if stepped = cmp.Or(stepped, err); total >= limit {
			return total, stepped
		}
		// A process that has not learned of the end may still park steps.
		if n == 0 && e.due.parked.Resting() == 0 && e.Now() > ended.Add(releaseAfter) {
			if e.pauses.released == nil {
				e.pauses.released = released{}
			}
			e.pauses.released[target] = ended
		}
	}
	return total, stepped
}

const (
	// releaseAfter is how long after a pause its steps are searched.
	releaseAfter        = clockSlack / 60
	maxReleasedVersions = 1000
)

func (e *Kernel) releaseTemplate(ctx context.Context, target task.PauseTarget, limit int) (total int, stepped error) {
	versions, err := e.Store.ListTemplates(ctx, TemplateFilter{Namespace: target.Namespace, Name: target.Name,
		Limit: maxReleasedVersions})
	if err != nil {
		return 0, fmt.Errorf("look for paused templates: %w", err)
	}
	for _, t := range versions {
		queue := task.ParkedTemplate(t.DefID)
		head, err := e.Places.First(ctx, queue, math.MinInt64)
		if err != nil {
			return total, fmt.Errorf("look for parked steps: %w", err)
		}
		if head == nil {
			continue
		}
		n, err := e.releaseQueue(ctx, queue, limit-total)
		if total += n; err != nil && !due.OnlyRows(err) {
			return total, err
		}
		if stepped = cmp.Or(stepped, err); total >= limit {
			break
		}
	}
	return total, stepped
}

func (e *Kernel) releaseQueue(ctx context.Context, queue int64, limit int) (n int, err error) {
	loop := e.stepLoop("release", queue, e.due.parked, func(u *Unit, works []Work) error {
		for _, w := range works {
			if err := w.Step.Release(u.Now, u.Order); err != nil {
				return err
			}
			u.Rows.ChangedStep(w.Step)
			u.Ready.steps = append(u.Ready.steps, w)
		}
		return nil
	})
	loop.Take = func(u *Unit, limit int) ([]Work, error) {
		steps, err := u.Tx.Between(u.Ctx, queue, Position{Key: math.MinInt64}, math.MaxInt64, limit)
		if err != nil || len(steps) == 0 {
			return nil, err
		}
		ids := make([]task.ID, len(steps))
		for i, s := range steps {
			ids[i] = s.ID
		}
		return loop.Lock(u, ids)
	}
	return loop.Run(ctx, limit)
}

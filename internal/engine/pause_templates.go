package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Tasks of several templates share routes, so a pause of a template closes none. Its steps are parked when something
// meets them: when they become ready, or at a claim. After the pause ReleasePaused gives them back in batches.

// templatePause returns the pause of a template in force, or nil.
func (c *closures) templatePause(t *task.Template) *task.Pause {
	if !c.templates || t == nil || t.Adhoc {
		return nil
	}
	return c.held[templateTarget(t)]
}

// templateTarget is the target that is a template.
func templateTarget(t *task.Template) task.PauseTarget {
	return task.PauseTarget{Kind: task.PauseTemplate, Namespace: t.Namespace, Name: t.Name}
}

// TemplatePausedBy returns the pause of a template in this process, or nil. It is shared and must not be changed.
func (e *Engine) TemplatePausedBy(t *task.Template) *task.Pause {
	return e.catalog.closures.Load().templatePause(t)
}

// pausedByTemplate reports whether a pause of its template holds a step back.
func pausedByTemplate(u *unit, s *task.Step) (bool, error) {
	c := u.e.catalog.closures.Load()
	if !c.templates {
		return false, nil
	}
	t, err := u.rows.template(s.DefID)
	return err == nil && c.templatePause(t) != nil, err
}

// park parks a ready step whose template is paused, and reports whether it did. The caller saves the step.
func park(u *unit, s *task.Step) (bool, error) {
	paused, err := pausedByTemplate(u, s)
	if err != nil || !paused {
		return false, err
	}
	return true, s.Park(task.ParkedTemplate(s.DefID), u.order)
}

// parkPaused parks those of the steps of a claim whose templates are paused, and returns the others. It comes before
// the limits of operators: what is set aside uses up nothing of them.
func (rs *readySteps) parkPaused(works []Work) (others []Work, err error) {
	u := rs.u
	if !u.e.catalog.closures.Load().templates {
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
	return others, u.tx.SaveSteps(u.ctx, parked)
}

func pausesFeature() feature { return feature{name: "pauses", queued: parkReady} }

// parkReady parks those of the steps that became ready in the unit whose templates are paused.
func parkReady(u *unit, steps []Work) error {
	if !u.e.catalog.closures.Load().templates {
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

// released remembers the pauses of templates after which nothing is parked any more, by their end.
type released map[task.PauseTarget]task.Instant

// ReleasePaused gives up to about limit steps back to their routes that pauses of templates have parked, once these
// have ended. It returns how many; fewer than limit means that there are no more. A crash in between loses nothing:
// what is parked is found again. One process at a time should call it. A *due.Error tells of steps that were stepped
// over.
func (e *Engine) ReleasePaused(ctx context.Context, limit int) (total int, stepped error) {
	c := e.catalog.closures.Load()
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
		// another process, which has not heard of the end, may still park some
		if n == 0 && e.due.parked.Resting() == 0 && e.instant() > ended.Add(releaseAfter) {
			if e.pauses.released == nil {
				e.pauses.released = released{}
			}
			e.pauses.released[target] = ended
		}
	}
	return total, stepped
}

const (
	// releaseAfter is how long after the end of a pause its steps are looked for.
	releaseAfter = clockSlack / 60
	// maxReleasedVersions bounds the versions of a template whose steps are looked for.
	maxReleasedVersions = 1000
)

// releaseTemplate releases parked steps of all versions of a template.
func (e *Engine) releaseTemplate(ctx context.Context, target task.PauseTarget, limit int) (total int, stepped error) {
	versions, err := e.store.ListTemplates(ctx, TemplateFilter{Namespace: target.Namespace, Name: target.Name,
		Limit: maxReleasedVersions})
	if err != nil {
		return 0, fmt.Errorf("look for paused templates: %w", err)
	}
	for _, t := range versions {
		queue := task.ParkedTemplate(t.DefID)
		head, err := e.queuePlaces.First(ctx, queue, math.MinInt64)
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

// releaseQueue releases up to limit steps of a parking queue.
func (e *Engine) releaseQueue(ctx context.Context, queue int64, limit int) (n int, err error) {
	loop := e.stepLoop("release", queue, e.due.parked, func(u *unit, works []Work) error {
		for _, w := range works {
			if err := w.Step.Release(u.now, u.order); err != nil {
				return err
			}
			u.rows.changedStep(w.Step)
			u.ready.steps = append(u.ready.steps, w)
		}
		return nil
	})
	loop.take = func(u *unit, limit int) ([]Work, error) {
		steps, err := u.tx.Between(u.ctx, queue, Position{Key: math.MinInt64}, math.MaxInt64, limit)
		if err != nil || len(steps) == 0 {
			return nil, err
		}
		ids := make([]task.ID, len(steps))
		for i, s := range steps {
			ids[i] = s.ID
		}
		return loop.lock(u, ids)
	}
	return loop.run(ctx, limit)
}

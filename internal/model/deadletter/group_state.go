package deadletter

import (
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// NewGroup returns an open group without failures.
func NewGroup(namespace string, p failure.Print, now task.Instant) *Group {
	return &Group{ID: GroupOf(namespace, p), Before: GroupBefore(namespace, p), Namespace: namespace, Print: p,
		Title: p.Title(), State: model.GroupOpen, StateAt: now, OpenedAt: now, FirstAt: now, LastAt: now, Version: 1}
}

func (g *Group) move(to model.GroupState, now task.Instant) error {
	if err := g.unmerged(); err != nil {
		return err
	}
	if !g.State.Can(to) {
		e := task.Errorf(task.WrongState, "the group %s is %s and cannot become %s", g.ID, g.State, to)
		if g.State == model.GroupResolved {
			e.Hint = "open it again first"
		}
		return e
	}
	g.State, g.StateAt = to, now
	g.Ignore, g.IgnoredFrom = Ignore{}, 0
	g.Version++
	return nil
}

func (g *Group) unmerged() error {
	if g.MergedInto == 0 {
		return nil
	}
	e := task.Errorf(task.WrongState, "the group %s is merged into %s", g.ID, g.MergedInto)
	e.Hint = "act on that group, or undo the merge first"
	return e
}

// Acknowledge records that somebody works on the group.
func (g *Group) Acknowledge(now task.Instant) error { return g.move(model.GroupAcknowledged, now) }

// Resolve records that the cause is removed, optionally in a version of the application.
func (g *Group) Resolve(version string, now task.Instant) error {
	if err := g.move(model.GroupResolved, now); err != nil {
		return err
	}
	g.ResolvedIn, g.ResolvedAt = version, now
	g.Regression = false
	g.OpenFor += int64(max(now-g.OpenedAt, 0))
	g.Resolutions++
	return nil
}

// IgnoreFor hides the group until a bound is reached or an operator opens it.
func (g *Group) IgnoreFor(bounds Ignore, now task.Instant) error {
	if err := g.move(model.GroupIgnored, now); err != nil {
		return err
	}
	g.Ignore, g.IgnoredFrom = bounds, g.Failures+g.Shown
	return nil
}

// Reopen opens an acknowledged, ignored or resolved group.
func (g *Group) Reopen(now task.Instant) error {
	resolved := g.State == model.GroupResolved
	if err := g.move(model.GroupOpen, now); err != nil {
		return err
	}
	if resolved {
		g.OpenedAt = now
	}
	return nil
}

// GroupEvent is the effect of a failure on its group.
type GroupEvent string

// The events of groups.
const (
	NoEvent     GroupEvent = ""
	Regressed   GroupEvent = "regression"
	IgnoreEnded GroupEvent = "ignore_ended"
)

// Failed applies failures, which g.Failures already includes; hour counts those of the current clock hour. It opens a
// resolved group if a failure is later than the resolution, and an ignored group at its bound. A merged group has no
// event: call Failed on the group that shows it, too.
func (g *Group) Failed(d Delta, hour int64, now task.Instant) GroupEvent {
	if d.Failures <= 0 || g.MergedInto != 0 {
		return NoEvent
	}
	regressed := g.State == model.GroupResolved && d.At > g.ResolvedAt
	if !regressed && !(g.State == model.GroupIgnored && g.overrun(hour)) || g.Reopen(now) != nil {
		return NoEvent
	}
	if !regressed {
		return IgnoreEnded
	}
	g.Regression = true
	g.Regressions++
	return Regressed
}

func (g *Group) overrun(hour int64) bool {
	return g.Ignore.Count > 0 && g.Failures+g.Shown-g.IgnoredFrom >= g.Ignore.Count ||
		g.Ignore.PerHour > 0 && hour >= g.Ignore.PerHour
}

// Elapsed opens an ignored group whose time is up.
func (g *Group) Elapsed(now task.Instant) GroupEvent {
	if g.State != model.GroupIgnored || g.Ignore.Until == 0 || now < g.Ignore.Until || g.Reopen(now) != nil {
		return NoEvent
	}
	return IgnoreEnded
}

// Assignment sets owner, runbook and due time of a group; nil fields stay.
type Assignment struct {
	Owner   *string
	Runbook *string
	DueAt   *task.Instant // 0 removes it
}

// Assign reports whether anything changed.
func (g *Group) Assign(a Assignment) bool {
	changed := set(&g.Owner, a.Owner)
	changed = set(&g.Runbook, a.Runbook) || changed
	changed = set(&g.DueAt, a.DueAt) || changed
	if changed {
		g.Version++
	}
	return changed
}

func set[T comparable](field, to *T) bool {
	if to == nil || *field == *to {
		return false
	}
	*field = *to
	return true
}

// Merge makes into show this group, which itself shows members. Merges are flat. WrongState: this group shows others
// or into is merged. Invalid: they are the same or in different namespaces.
func (g *Group) Merge(into *Group, members int) error {
	if err := g.unmerged(); err != nil {
		return err
	}
	switch {
	case into.ID == g.ID:
		return task.Errorf(task.Invalid, "the group %s cannot be merged into itself", g.ID)
	case into.Namespace != g.Namespace:
		return task.Errorf(task.Invalid, "the group %s is of another namespace", into.ID)
	case into.MergedInto != 0:
		return into.unmerged()
	case members > 0:
		e := task.Errorf(task.WrongState, "the group %s shows %d other groups", g.ID, members)
		e.Hint = "merge those, or undo their merges first"
		return e
	}
	g.MergedInto = into.ID
	g.Version++
	return nil
}

// Shows excludes earlier failures of a merged group from the bound of an ignored one.
func (g *Group) Shows(m *Group) {
	if g.State == model.GroupIgnored {
		g.IgnoredFrom += m.Failures
	}
}

// ShowsNoMore adjusts an ignored group after an undone merge.
func (g *Group) ShowsNoMore(m *Group) {
	if g.State == model.GroupIgnored {
		g.IgnoredFrom -= m.Failures
	}
}

// Unmerge returns the group to the list in its previous state.
func (g *Group) Unmerge() error {
	if g.MergedInto == 0 {
		return task.Errorf(task.WrongState, "the group %s is not merged", g.ID)
	}
	g.MergedInto = 0
	g.Version++
	return nil
}

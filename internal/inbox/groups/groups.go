// Package groups puts failures that have one cause together: the inbox of groups and what operators do with them, rules
// and splits, which decide about the group of a failure, and the loop that opens groups for another look.
package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	keptCounts = 14 * 24 * time.Hour
	// notes in a GroupStory; notes of a group; bytes of a note
	shownNotes, maxNotes, maxNote = 100, 1000, 16 << 10
	maxMerged                     = 100
)

// Sorter sorts failures into groups.
type Sorter struct {
	*desk.Desk
	store    Store
	sources  *sources.Registry
	letters  *letters.Keeper
	ruler    *Ruler
	dueMoves *due.Rows[*Move, task.ID]
}

// New returns a Sorter. The Ruler is the engine's, so that both follow a change at the same time.
func New(d *desk.Desk, store Store, sources *sources.Registry, letters *letters.Keeper, ruler *Ruler) *Sorter {
	return &Sorter{d, store, sources, letters, ruler,
		desk.RowsOf(d.DB, "the split", func(m *Move) task.ID { return m.ID })}
}

// Groups returns a page of the inbox behind a cursor: the sort value and ID of the last group. A group includes the
// counts and times of groups merged into it. In the default order a group that fails meanwhile moves to the first page,
// so later pages may lack it.
func (in *Sorter) Groups(ctx context.Context, f GroupFilter, cursor string) (*GroupPage, error) {
	err := in.Page(ctx, f.Limit, &f.Namespace)
	if err != nil {
		return nil, err
	}
	if cursor != "" {
		if f.AfterValue, f.After, err = groupCursor(cursor); err != nil {
			return nil, err
		}
	}
	page := &GroupPage{}
	if page.Groups, err = in.store.ListGroups(ctx, f); err != nil {
		return nil, err
	}
	ids := make([]deadletter.GroupID, len(page.Groups))
	for i, g := range page.Groups {
		ids[i] = g.ID
	}
	if page.Hours, err = in.store.Hours(ctx, ids, in.Now().Add(-24*time.Hour)); err != nil {
		return nil, err
	}
	if page.Resolved, err = in.store.Resolutions(ctx, f.Namespace); err != nil {
		return nil, err
	}
	if len(page.Groups) == f.Limit {
		last := page.Groups[len(page.Groups)-1]
		page.Next = fmt.Sprintf("%d.%x", f.Value(last), int64(last.ID))
	}
	return page, nil
}

func groupCursor(cursor string) (value int64, after deadletter.GroupID, err error) {
	before, behind, _ := strings.Cut(cursor, ".")
	value, err = strconv.ParseInt(before, 10, 64)
	id, err2 := strconv.ParseInt(behind, 16, 64)
	if err != nil || err2 != nil || fmt.Sprintf("%d.%x", value, id) != cursor {
		return 0, 0, desk.Invalid("the cursor is not one of this list", "cursor", "use next_cursor of the page before")
	}
	return value, deadletter.GroupID(id), nil
}

// Value is the value by which a filter orders a group, as in the store's ORDER BY: it compares cursors.
func (f *GroupFilter) Value(g *deadletter.Group) int64 {
	switch f.Order {
	case "open":
		return g.OpenLetters + g.OpenCases
	case "first":
		return int64(g.FirstAt)
	default:
		return int64(g.LastAt)
	}
}

// Group returns a group with its story, or NotFound. Counts include merged groups, and the sample is the newest letter
// of any of them.
func (in *Sorter) Group(ctx context.Context, id deadletter.GroupID) (*GroupStory, error) {
	g, err := in.GroupOf(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &GroupStory{Group: g}
	if s.Merged, err = in.store.MergedGroups(ctx, id); err != nil {
		return nil, err
	}
	ids := []deadletter.GroupID{id}
	for _, m := range s.Merged {
		ids = append(ids, m.ID)
		g.Failures, g.OpenLetters, g.OpenCases = g.Failures+m.Failures, g.OpenLetters+m.OpenLetters, g.OpenCases+m.OpenCases
		g.FirstAt, g.LastAt = min(g.FirstAt, m.FirstAt), max(g.LastAt, m.LastAt)
	}
	if s.Notes, err = in.store.GroupNotes(ctx, id, 0, shownNotes); err != nil {
		return nil, err
	}
	hours, err := in.store.Hours(ctx, []deadletter.GroupID{id}, in.Now().Add(-keptCounts))
	if err != nil {
		return nil, err
	}
	for _, of := range hours {
		s.Hours = of
	}
	// A list omits stacks and large payloads; FindLetter does not.
	page, err := in.store.ListLetters(ctx, letters.LetterFilter{Selection: deadletter.Selection{Namespace: g.Namespace,
		Groups: ids}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Letters) > 0 {
		if s.Sample, err = in.store.FindLetter(ctx, page.Letters[0].ID); err != nil {
			return nil, err
		}
	}
	l := cmp.Or(s.Sample, &deadletter.Letter{})
	s.Why = g.Print.Why(l.Failure, l.Stack, cmp.Or(l.Handler, l.Source))
	s.Why, err = in.whyRule(ctx, g, s.Why)
	return s, err
}

// GroupOf returns a group that the request reaches, or NotFound.
func (in *Sorter) GroupOf(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error) {
	g, err := in.store.FindGroup(ctx, id)
	if err == nil && (g == nil || !desk.Reaches(ctx, g.Namespace)) {
		return nil, noGroup(id)
	}
	return g, err
}

// MergeGroups shows the failures of groups as those of one, all or none. The members keep their rows, for UnmergeGroup.
// WrongState: the merge is not flat (see Group.Merge), or too large.
func (in *Sorter) MergeGroups(ctx context.Context, into deadletter.GroupID, of []deadletter.GroupID, by desk.By) (
	*deadletter.Group, error,
) {
	if len(of) == 0 || len(of) > maxMerged {
		return nil, desk.Invalid("nothing was merged", "/groups", fmt.Sprintf("must name 1 to %d groups", maxMerged))
	}
	// Sorted, and without repetitions.
	of = slices.Compact(slices.Sorted(slices.Values(of)))
	return in.regroup(ctx, into, by, "merge_groups", func(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
		shown, err := in.store.Merged(ctx, tx, into)
		if err != nil {
			return err
		}
		if len(shown)+len(of) > maxMerged {
			return desk.Hinted(task.WrongState, "a rule can put such failures into one group: tasker rule add",
				"the group %s shows %d others; a group shows at most %d", into, len(shown), maxMerged)
		}
		for _, id := range of {
			m, err := in.store.Group(ctx, tx, id)
			if err != nil {
				return err
			}
			if m == nil || m.Namespace != g.Namespace {
				return noGroup(id)
			}
			inner, err := in.store.Merged(ctx, tx, id)
			if err != nil {
				return err
			}
			if err := m.Merge(g, len(inner)); err != nil {
				return err
			}
			g.Shows(m)
			if err := in.store.SaveGroup(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	}, fmt.Sprintf("merged %s into this group", of), of...)
}

// UnmergeGroup undoes the merge of one group.
func (in *Sorter) UnmergeGroup(ctx context.Context, id deadletter.GroupID, by desk.By) (*deadletter.Group, error) {
	known, err := in.GroupOf(ctx, id)
	if err != nil {
		return nil, err
	}
	into := known.MergedInto
	return in.regroup(ctx, id, by, "unmerge_group", func(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
		if g.MergedInto != into {
			return task.Errorf(task.Conflict, "the group %s has just been merged or unmerged by somebody else", id)
		}
		if err := g.Unmerge(); err != nil {
			return err
		}
		by, err := in.store.Group(ctx, tx, into)
		if err != nil || by == nil {
			return err
		}
		by.ShowsNoMore(g)
		return in.store.SaveGroup(ctx, tx, by)
	}, "stands on its own again", into)
}

func (in *Sorter) regroup(ctx context.Context, id deadletter.GroupID, by desk.By, kind string,
	fn func(context.Context, engine.Tx, *deadletter.Group) error, note string, others ...deadletter.GroupID,
) (*deadletter.Group, error) {
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Group, error) {
		// In the order of IDs, to avoid deadlocks.
		if _, err := in.store.Groups(ctx, tx, append(others, id)); err != nil {
			return nil, err
		}
		g, err := in.reachedGroup(ctx, tx, id, by)
		if err != nil {
			return nil, err
		}
		if err := fn(ctx, tx, g); err != nil {
			return nil, err
		}
		return g, in.saveGroup(ctx, tx, g, desk.Act{Kind: kind, By: by, Data: note}, note)
	})
}

// changeGroup changes a group with fn, which fills in the act, and stores both with a note in one transaction. The
// store may run fn again.
func (in *Sorter) changeGroup(ctx context.Context, id deadletter.GroupID, by desk.By,
	fn func(*deadletter.Group, *desk.Act) error, note string,
) (*deadletter.Group, error) {
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Group, error) {
		g, err := in.reachedGroup(ctx, tx, id, by)
		if err != nil {
			return nil, err
		}
		shown, err := in.store.ShownFailures(ctx, tx, []deadletter.GroupID{g.ID})
		if err != nil {
			return nil, err
		}
		g.Shown = shown[g.ID]
		was := g.State
		a := desk.Act{Kind: "change_group", By: by, From: string(was)}
		before := recordOfGroup(g)
		if err := fn(g, &a); err != nil {
			return nil, err
		}
		a.To = string(g.State)
		if after := recordOfGroup(g); !reflect.DeepEqual(before, after) {
			a.Before, a.After = before, after
		}
		if err := in.saveGroup(ctx, tx, g, a, note); err != nil || g.State == was {
			return g, err
		}
		return g, in.Tell(ctx, tx, deadletter.GroupHappened(deadletter.EventGroupState, g, was, a.Kind, in.Now()))
	})
}

func (in *Sorter) reachedGroup(ctx context.Context, tx engine.Tx, id deadletter.GroupID, by desk.By) (*deadletter.Group,
	error,
) {
	g, err := in.store.Group(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if g == nil || !desk.Reaches(ctx, g.Namespace) {
		return nil, noGroup(id)
	}
	return g, by.Expected("the group", g.Version)
}

func (in *Sorter) saveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group, a desk.Act, note string) error {
	if note != "" && g.Notes >= maxNotes { // the act is noted in any case
		return task.Errorf(task.Exhausted, "the group has %d notes, as many as it may have", maxNotes)
	}
	g.Notes++
	entry := deadletter.Note{Group: g.ID, At: in.Now(), Author: a.By.Actor, Key: a.By.Key, Kind: a.Kind,
		Text: cmp.Or(note, a.By.Reason)}
	a.Namespace, a.Of = g.Namespace, g.ID.String()
	return errors.Join(in.store.SaveGroup(ctx, tx, g), in.store.AddGroupNotes(ctx, tx, []deadletter.Note{entry}),
		in.Act(ctx, tx, a))
}

// GroupStory is a group with its history. The counts of Group include those of Merged.
type GroupStory struct {
	Group  *deadletter.Group
	Merged []*deadletter.Group
	Notes  []deadletter.Note
	Hours  []deadletter.Hour  // of 14 days, with the merged ones
	Sample *deadletter.Letter // a recent one; nil if the group has only cases
	Why    []failure.Part
}

// GroupPage is a page of groups.
type GroupPage struct {
	Groups   []*deadletter.Group
	Hours    map[deadletter.GroupID][]deadletter.Hour // of the last 24 hours
	Resolved deadletter.Resolutions
	Next     string
}

// GroupFilter selects a page of groups. Zero fields do not restrict.
type GroupFilter struct {
	Namespace string
	State     model.GroupState
	Owner     string
	Where     string
	Text      string
	OpenOnly  bool
	// Order is "last" (the default: failed last first), "open" (most open items first) or "first" (newest first).
	Order string
	// After is the sort value and ID of the last group before the page.
	AfterValue int64
	After      deadletter.GroupID
	Limit      int
}

func noGroup(id deadletter.GroupID) error {
	return task.Errorf(task.NotFound, "there is no group %s", id)
}

func recordOfGroup(g *deadletter.Group) desk.Fields {
	return desk.Fields{"owner": g.Owner, "runbook": g.Runbook, "due_at": g.DueAt.Ptr(), "resolved_in": g.ResolvedIn}
}

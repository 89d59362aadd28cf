package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const maxChanged = 1000

// ChangeGroups changes many groups alike, one by one as ChangeGroup does, and answers for each in order. It finds the
// groups of a filter first, so the change does not move the selection. It refuses an invalid request as a whole;
// Conflict: the filter selects more than maxChanged. A database error ends it: groups before it stay changed, and the
// request can be repeated.
func (in *Inbox) ChangeGroups(ctx context.Context, ch GroupsChange) ([]GroupResult, error) {
	if problems := in.checkGroupsChange(&ch); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "no group was changed", Problems: problems}
	}
	results, err := in.selected(ctx, &ch)
	if err != nil || ch.DryRun {
		return results, err
	}
	for i := range results {
		r := &results[i]
		g, err := in.ChangeGroup(ctx, r.ID, ch.GroupChange)
		switch {
		case err == nil:
			r.Group = g
		case !errors.As(err, &r.Err) || r.Err.Code == task.Unavailable:
			return nil, err
		}
	}
	return results, nil
}

func (in *Inbox) checkGroupsChange(ch *GroupsChange) desk.Faults {
	f := in.checkGroupChange(&ch.GroupChange)
	switch {
	case len(ch.Groups) == 0 && ch.Filter == nil:
		f.Add("", "give groups or a filter")
	case len(ch.Groups) > 0 && ch.Filter != nil:
		f.Add("/filter", "goes without groups")
	case len(ch.Groups) > maxChanged:
		f.Add("/groups", fmt.Sprintf("must name at most %d groups", maxChanged))
	case ch.Filter != nil && *ch.Filter == (GroupFilter{}):
		f.Add("/filter", "must have at least one field")
	}
	f.When(ch.Version != 0, "/if_match", "goes with the change of one group")
	return f
}

func (in *Inbox) selected(ctx context.Context, ch *GroupsChange) ([]GroupResult, error) {
	if ch.Filter != nil {
		return in.listed(ctx, *ch.Filter)
	}
	var results []GroupResult
	seen := map[deadletter.GroupID]bool{}
	for _, id := range ch.Groups {
		if seen[id] {
			continue
		}
		seen[id] = true
		r := GroupResult{ID: id}
		if ch.DryRun {
			g, err := in.group(ctx, id)
			if err != nil && (task.CodeOf(err) != task.NotFound || !errors.As(err, &r.Err)) {
				return nil, err
			}
			r.Group = g
		}
		results = append(results, r)
	}
	return results, nil
}

func (in *Inbox) listed(ctx context.Context, f GroupFilter) ([]GroupResult, error) {
	namespace, err := desk.Narrow(ctx, f.Namespace)
	if err != nil {
		return nil, err
	}
	f.Namespace, f.Limit = namespace, maxChanged+1
	groups, err := in.store.ListGroups(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(groups) > maxChanged {
		return nil, desk.Hinted(task.Conflict, "narrow the filter",
			"the filter selects more than %d groups; none was changed",
			maxChanged)
	}
	results := make([]GroupResult, len(groups))
	for i, g := range groups {
		results[i] = GroupResult{ID: g.ID, Group: g}
	}
	return results, nil
}

// GroupsChange changes many groups alike: Groups, or those of Filter.
type GroupsChange struct {
	GroupChange
	Groups []deadletter.GroupID
	Filter *GroupFilter // without order, limit and place
	DryRun bool         // only list the groups
}

// GroupResult is the result of a GroupsChange for one group.
type GroupResult struct {
	ID    deadletter.GroupID
	Group *deadletter.Group // as stored; nil with Err, unchanged in a dry run
	Err   *task.Error       // why it was not changed
}

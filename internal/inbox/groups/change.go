package groups

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const maxChanged = 1000

// ChangeGroups changes many groups alike, one by one as ChangeGroup does, and answers for each in order. It finds the
// groups of a filter first, so the change does not move the selection. It refuses an invalid request as a whole;
// Conflict: the filter selects more than maxChanged. A database error ends it: groups before it stay changed, and the
// request can be repeated.
func (in *Sorter) ChangeGroups(ctx context.Context, ch Changes) ([]GroupResult, error) {
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

func (in *Sorter) checkGroupsChange(ch *Changes) desk.Faults {
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

func (in *Sorter) selected(ctx context.Context, ch *Changes) ([]GroupResult, error) {
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
			g, err := in.GroupOf(ctx, id)
			if err != nil && (task.CodeOf(err) != task.NotFound || !errors.As(err, &r.Err)) {
				return nil, err
			}
			r.Group = g
		}
		results = append(results, r)
	}
	return results, nil
}

func (in *Sorter) listed(ctx context.Context, f GroupFilter) ([]GroupResult, error) {
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

// Changes changes many groups alike: Groups, or those of Filter.
type Changes struct {
	GroupChange
	Groups []deadletter.GroupID
	Filter *GroupFilter // without order, limit and place
	DryRun bool         // only list the groups
}

// GroupResult is the result of a Changes for one group.
type GroupResult struct {
	ID    deadletter.GroupID
	Group *deadletter.Group // as stored; nil with Err, unchanged in a dry run
	Err   *task.Error       // why it was not changed
}

// GroupChange changes a group in one act; nil fields keep the value.
type GroupChange struct {
	desk.By
	State      model.GroupState
	ResolvedIn string
	Ignore     deadletter.Ignore
	Owner      *string
	Runbook    *string
	DueAt      *task.Instant
	Note       string
}

// ChangeGroup changes a group's state, owner, due time and runbook, and adds a note. Exhausted: the thread is full.
func (in *Sorter) ChangeGroup(ctx context.Context, id deadletter.GroupID, ch GroupChange) (*deadletter.Group, error) {
	if problems := in.checkGroupChange(&ch); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the group was not changed", Problems: problems}
	}
	return in.changeGroup(ctx, id, ch.By, func(g *deadletter.Group, a *desk.Act) error {
		a.Data = ch.input()
		g.Assign(deadletter.Assignment{Owner: ch.Owner, Runbook: ch.Runbook, DueAt: ch.DueAt})
		switch ch.State {
		case model.GroupAcknowledged:
			a.Kind = "acknowledge_group"
			return g.Acknowledge(in.Now())
		case model.GroupResolved:
			a.Kind = "resolve_group"
			return g.Resolve(ch.ResolvedIn, in.Now())
		case model.GroupIgnored:
			a.Kind = "ignore_group"
			return g.IgnoreFor(ch.Ignore, in.Now())
		case model.GroupOpen:
			a.Kind = "reopen_group"
			return g.Reopen(in.Now())
		}
		return nil
	}, ch.Note)
}

func (in *Sorter) checkGroupChange(ch *GroupChange) (f desk.Faults) {
	f.When(ch.State != "" && !slices.Contains(model.GroupStates, ch.State), "/state",
		"must be open, acknowledged, resolved or ignored")
	f.Add("/resolved_in", task.TextFault(ch.ResolvedIn, desk.MaxName))
	f.When(ch.ResolvedIn != "" && ch.State != model.GroupResolved, "/resolved_in", "goes with the state resolved")
	f.When(ch.Ignore != (deadletter.Ignore{}) && ch.State != model.GroupIgnored, "/ignore", "goes with the state ignored")
	f.When(ch.Ignore.Count < 0 || ch.Ignore.PerHour < 0, "/ignore", "must not be negative")
	f.When(ch.Ignore.Until != 0 && ch.Ignore.Until <= in.Now(), "/ignore/until", "must be in the future")
	if ch.Owner != nil {
		f.Add("/owner", task.TextFault(*ch.Owner, desk.MaxName))
	}
	// Pages link to the runbook: other schemes, such as javascript, are refused.
	if ch.Runbook != nil && *ch.Runbook != "" {
		u, err := url.Parse(*ch.Runbook)
		f.When(err != nil || u.Scheme != "https" && u.Scheme != "http" || len(*ch.Runbook) > 2048, "/runbook",
			"must be a URL that begins with https:// or http://, of at most 2048 bytes")
	}
	f.When(len(ch.Note) > maxNote, "/note", fmt.Sprintf("must not be longer than %d bytes", maxNote))
	f.Add("/note", task.TextFault(ch.Note, maxNote))
	f.When(ch.State == "" && ch.Owner == nil && ch.Runbook == nil && ch.DueAt == nil && ch.Note == "", "",
		"there is nothing to change: give state, owner, runbook, due_at, no_due_at or note")
	return f
}

// input is the audit trail's data of a change. State and note have their own columns.
func (ch *GroupChange) input() any {
	in := struct {
		ResolvedIn string            `json:"resolved_in,omitempty"`
		Ignore     deadletter.Ignore `json:"ignore,omitzero"`
		Owner      *string           `json:"owner,omitempty"`
		Runbook    *string           `json:"runbook,omitempty"`
		DueAt      *time.Time        `json:"due_at,omitempty"`
	}{ch.ResolvedIn, ch.Ignore, ch.Owner, ch.Runbook, nil}
	if ch.DueAt != nil {
		in.DueAt = ch.DueAt.Ptr()
	}
	return in
}

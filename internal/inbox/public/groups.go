package public

import (
	"cmp"
	"context"
	"errors"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// A page has 50 groups unless the filter says how many.
func (b *backend) Groups(ctx context.Context, f deadletters.GroupFilter) (*deadletters.GroupPage, error) {
	page, err := b.inbox.Groups(ctx, inbox.GroupFilter{Namespace: f.Namespace, State: f.State,
		Owner: f.Owner, Where: f.Where, Text: f.Text, OpenOnly: f.OpenOnly, Order: f.Order,
		Limit: cmp.Or(f.Limit, defaultPage)}, f.Cursor)
	if err != nil {
		return nil, relocated(err, "cursor", "query.cursor")
	}
	out := &deadletters.GroupPage{Groups: []deadletters.Group{}, NextCursor: page.Next,
		Resolutions: page.Resolved.Times, MeanOpenSeconds: page.Resolved.Mean().Seconds()}
	for _, g := range page.Groups {
		shown := shownGroup(g)
		shown.Hours = shownHours(page.Hours[g.ID])
		out.Groups = append(out.Groups, shown)
	}
	return out, nil
}

func (b *backend) Group(ctx context.Context, id string) (*deadletters.GroupStory, error) {
	var r reader
	return asked(ctx, &r, b.inbox.Group, r.group("path.group_id", id), shownGroupStory)
}

func (b *backend) ChangeGroup(ctx context.Context, id string, ch deadletters.GroupChange) (*deadletters.Group, error) {
	var r reader
	return acted(ctx, &r, b.inbox.ChangeGroup, r.group("path.group_id", id), r.groupChange(&ch), shownGroup)
}

func (b *backend) ChangeGroups(ctx context.Context, req deadletters.GroupsChange) (*deadletters.ChangedGroups, error) {
	var r reader
	change := inbox.GroupsChange{GroupChange: r.groupChange(&req.GroupChange), Groups: r.groups("/groups", req.Groups),
		DryRun: req.DryRun}
	if f := req.Filter; f != nil {
		change.Filter = &inbox.GroupFilter{Namespace: f.Namespace, State: f.State, Owner: f.Owner,
			Where: f.Where, Text: f.Text, OpenOnly: f.OpenOnly}
	}
	return asked(ctx, &r, b.inbox.ChangeGroups, change, func(results []inbox.GroupResult) deadletters.ChangedGroups {
		return deadletters.ChangedGroups{Results: each(results, shownGroupResult), DryRun: req.DryRun}
	})
}

func shownGroupResult(r inbox.GroupResult) deadletters.GroupResult {
	out := deadletters.GroupResult{GroupID: r.ID.String()}
	if r.Group != nil {
		out.Title, out.State = r.Group.Title, r.Group.State
	}
	if r.Err != nil {
		errors.As(shownError(r.Err), &out.Error)
	}
	return out
}

func (r *reader) groupChange(ch *deadletters.GroupChange) inbox.GroupChange {
	change := inbox.GroupChange{By: r.by(ch.Act), State: ch.State, ResolvedIn: ch.ResolvedIn,
		Owner: ch.Owner, Runbook: ch.Runbook, Note: ch.Note}
	if i := ch.Ignore; i != nil {
		change.Ignore = deadletter.Ignore{Until: r.optionalTime("/ignore/until", i.Until), Count: i.Count,
			PerHour: i.PerHour}
	}
	switch {
	case ch.DueAt != nil && ch.NoDueAt:
		r.bad("/no_due_at", "goes without due_at")
	case ch.DueAt != nil:
		due := r.optionalTime("/due_at", ch.DueAt)
		change.DueAt = &due
	case ch.NoDueAt:
		change.DueAt = new(task.Instant) // a pointer to the zero time removes it; nil keeps it
	}
	return change
}

func (b *backend) MergeGroups(ctx context.Context, into string, req deadletters.MergeRequest,
) (*deadletters.Group, error) {
	var r reader
	target, of, by := r.group("path.group_id", into), r.groups("/groups", req.Groups), r.by(req.Act)
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(shownGroup)(b.inbox.MergeGroups(ctx, target, of, by))
}

func (b *backend) UnmergeGroup(ctx context.Context, id string, act deadletters.Act) (*deadletters.Group, error) {
	var r reader
	return acted(ctx, &r, b.inbox.UnmergeGroup, r.group("path.group_id", id), r.by(act), shownGroup)
}

// shownGroup converts a group. MeanOpenSeconds is the mean time from opening to resolution; it is omitted until the
// group has been resolved once. The hours are not part of a domain group; callers add them.
func shownGroup(g *deadletter.Group) deadletters.Group {
	p := &g.Print
	out := deadletters.Group{
		GroupID: g.ID.String(), Namespace: g.Namespace, Title: g.Title,
		Fingerprint: deadletters.Fingerprint{Version: p.Version, Type: p.Type, Message: p.Message, Frame: p.Frame,
			Where: p.Where, Rule: p.Rule},
		State: g.State, StateAt: g.StateAt.Time(), ResolvedIn: g.ResolvedIn,
		Regression: g.Regression, Regressions: g.Regressions, ResolvedAt: g.ResolvedAt.Ptr(),
		Owner: g.Owner, Runbook: g.Runbook, DueAt: g.DueAt.Ptr(), MergedInto: shownGroupID(g.MergedInto),
		FirstAt: g.FirstAt.Time(), LastAt: g.LastAt.Time(), Failures: g.Failures, OpenLetters: g.OpenLetters,
		OpenCases: g.OpenCases, NoteCount: g.Notes, ETag: etag(g.Version),
	}
	if g.Ignore != (deadletter.Ignore{}) {
		out.Ignore = &deadletters.Ignore{Until: g.Ignore.Until.Ptr(), Count: g.Ignore.Count, PerHour: g.Ignore.PerHour}
	}
	if g.Resolutions > 0 {
		out.MeanOpenSeconds = float64(g.OpenFor) / 1e6 / float64(g.Resolutions)
	}
	return out
}

// shownHours converts counts by the hour, in their order. Hours without failures are left out on both sides.
func shownHours(hours []deadletter.Hour) []deadletters.Hour {
	var out []deadletters.Hour
	for _, h := range hours {
		out = append(out, deadletters.Hour{At: h.At.Time(), Failures: h.Failures})
	}
	return out
}

// shownGroupStory converts a group with its thread, its merged groups and its sample. Notes is an empty list and never
// nil, so that JSON has [].
func shownGroupStory(s *inbox.GroupStory) deadletters.GroupStory {
	out := deadletters.GroupStory{Group: shownGroup(s.Group), Merged: each(s.Merged, shownGroup),
		Notes: each(s.Notes, shownNote)}
	out.Hours = shownHours(s.Hours)
	for _, p := range s.Why {
		out.Why = append(out.Why, deadletters.Part(p))
	}
	if s.Sample != nil {
		sample := shownLetter(s.Sample)
		out.Sample = &sample
	}
	return out
}

func shownNote(n deadletter.Note) deadletters.Note {
	return deadletters.Note{No: n.No, At: n.At.Time(), Actor: n.Author, KeyName: n.Key, Kind: n.Kind, Text: n.Text}
}

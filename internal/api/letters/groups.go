package letters

import (
	"cmp"
	"context"
	"errors"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (b *backend) Groups(ctx context.Context, f deadletters.GroupFilter) (*deadletters.GroupPage, error) {
	page, err := b.inbox.Groups(ctx, groups.GroupFilter{Namespace: f.Namespace, State: f.State, Owner: f.Owner,
		Where: f.Where, Text: f.Text, OpenOnly: f.OpenOnly, Order: f.Order, Limit: cmp.Or(f.Limit, defaultPage)}, f.Cursor)
	if err != nil {
		return nil, refusal.Moved(err, "cursor", "query.cursor")
	}
	shown := func(g *deadletter.Group) deadletters.Group {
		out := shownGroup(g)
		out.Hours = shownHours(page.Hours[g.ID])
		return out
	}
	return &deadletters.GroupPage{Groups: each(page.Groups, shown), NextCursor: page.Next,
		Resolutions: page.Resolved.Times, MeanOpenSeconds: page.Resolved.Mean().Seconds()}, nil
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
	change := groups.Changes{GroupChange: r.groupChange(&req.GroupChange), Groups: r.groups("/groups", req.Groups),
		DryRun: req.DryRun}
	if f := req.Filter; f != nil {
		change.Filter = &groups.GroupFilter{Namespace: f.Namespace, State: f.State, Owner: f.Owner,
			Where: f.Where, Text: f.Text, OpenOnly: f.OpenOnly}
	}
	return asked(ctx, &r, b.inbox.ChangeGroups, change, func(results []groups.GroupResult) deadletters.ChangedGroups {
		return deadletters.ChangedGroups{Results: each(results, shownGroupResult), DryRun: req.DryRun}
	})
}

func shownGroupResult(r groups.GroupResult) deadletters.GroupResult {
	out := deadletters.GroupResult{GroupID: r.ID.String()}
	if r.Group != nil {
		out.Title, out.State = r.Group.Title, r.Group.State
	}
	if r.Err != nil {
		errors.As(refusal.ToError(r.Err), &out.Error)
	}
	return out
}

func (r *reader) groupChange(ch *deadletters.GroupChange) groups.GroupChange {
	change := groups.GroupChange{By: r.by(ch.Act), State: ch.State, ResolvedIn: ch.ResolvedIn,
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

// shownGroup converts a group without its hours, which are not part of a domain group.
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

func shownHours(hours []deadletter.Hour) []deadletters.Hour {
	return some(hours, func(h deadletter.Hour) deadletters.Hour {
		return deadletters.Hour{At: h.At.Time(), Failures: h.Failures}
	})
}

func shownGroupStory(s *groups.GroupStory) deadletters.GroupStory {
	out := deadletters.GroupStory{Group: shownGroup(s.Group), Merged: each(s.Merged, shownGroup),
		Notes: each(s.Notes, shownNote)}
	out.Hours = shownHours(s.Hours)
	out.Why = some(s.Why, func(p failure.Part) deadletters.Part { return deadletters.Part(p) })
	if s.Sample != nil {
		sample := shownLetter(s.Sample)
		out.Sample = &sample
	}
	return out
}

func shownNote(n deadletter.Note) deadletters.Note {
	return deadletters.Note{No: n.No, At: n.At.Time(), Actor: n.Author, KeyName: n.Key, Kind: n.Kind, Text: n.Text}
}

// A saved version was not evaluated yet, so the answer has no faults.
func (b *backend) SaveRule(ctx context.Context, req deadletters.RuleRequest) (*deadletters.SavedRule, error) {
	var r reader
	return acted(ctx, &r, b.inbox.SaveRule, r.rule(&req.Rule), r.by(req.Act), shownRule)
}

func (b *backend) SplitGroup(ctx context.Context, id string, req deadletters.SplitRequest,
) (*deadletters.SavedRule, error) {
	var r reader
	split := groups.SplitRequest{By: r.by(req.Act), Name: req.Name, When: req.When, Keys: req.GroupBy, Title: req.Title}
	return acted(ctx, &r, b.inbox.SplitGroup, r.group("path.group_id", id), split, shownRule)
}

func (b *backend) UnsplitGroup(ctx context.Context, id string, act deadletters.Act) (*deadletters.Group, error) {
	var r reader
	return acted(ctx, &r, b.inbox.UnsplitGroup, r.group("path.group_id", id), r.by(act), shownGroup)
}

func (b *backend) DropRule(ctx context.Context, namespace, name string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return refusal.ToError(b.inbox.RemoveRule(ctx, within(namespace), name, by))
}

func (b *backend) Rules(ctx context.Context, namespace string) ([]deadletters.SavedRule, error) {
	return shownList(shownRuleStatus)(b.inbox.Rules(ctx, namespace))
}

func (b *backend) Rule(ctx context.Context, namespace, name string) (*deadletters.RuleStory, error) {
	return shown(shownRuleStory)(b.inbox.Rule(ctx, within(namespace), name))
}

func shownRuleStory(s *groups.RuleStory) deadletters.RuleStory {
	return deadletters.RuleStory{SavedRule: shownRuleStatus(s.RuleStatus), Versions: each(s.Versions, shownRule)}
}

// In the request the rule is a member, so its faults move.
func (b *backend) TestRule(ctx context.Context, test deadletters.RuleTest) (*deadletters.RuleTrial, error) {
	var r reader
	t := groups.RuleTest{Rule: r.rule(&test.Rule)}
	if test.GroupID != "" {
		t.Group = r.group("/group_id", test.GroupID)
	}
	if test.Failure != nil {
		t.Facts = r.facts("/failure", test.Failure)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	trial, err := b.inbox.TestRule(ctx, t)
	for _, field := range []string{"/when", "/group_by", "/name", "/title", "/position", "/namespace"} {
		err = refusal.Moved(err, field, "/rule"+field)
	}
	return shown(shownTrial)(trial, err)
}

func shownTrial(t *groups.RuleTrial) deadletters.RuleTrial {
	return deadletters.RuleTrial{Tried: t.Tried, Matched: t.Matched, Failed: t.Failed, Items: each(t.Items, shownTried)}
}

func shownTried(i groups.RuleItem) deadletters.RuleItem {
	out := deadletters.RuleItem{Kind: i.Kind, ID: optionalID(i.ID), Matched: i.Matched, GroupID: shownGroupID(i.Group),
		Error: i.Error}
	if i.Matched {
		out.Title, out.Keys = i.Print.Title(), i.Print.Keys()
	}
	return out
}

func (r *reader) rule(in *deadletters.Rule) *deadletter.Rule {
	return &deadletter.Rule{Namespace: within(in.Namespace), Name: in.Name, Position: in.Position,
		When: in.When, Keys: in.GroupBy, Title: in.Title}
}

func (r *reader) facts(at string, in *deadletters.RuleSample) *deadletter.Facts {
	if in.Class != "" && !failure.Class(in.Class).Known() {
		r.bad(at+"/class", "must be transient, resource, logic or worker")
	}
	kind := cmp.Or(in.Kind, deadletters.KindLetter)
	if kind != deadletters.KindLetter && kind != deadletters.KindCase {
		r.bad(at+"/kind", "must be letter or case")
	}
	return &deadletter.Facts{Kind: kind, Failure: failure.Report{Type: in.ErrorType, Code: in.Code,
		Message: in.Message, Class: failure.Class(in.Class), Retryable: in.Retryable}, Frame: in.Frame,
		Handler: in.Handler, Source: in.Source, Origin: in.Origin, Template: in.Template, Step: in.Step,
		Reason: in.Reason, Headers: r.headers(at+"/headers", in.Headers)}
}

func shownRule(r *deadletter.Rule) deadletters.SavedRule {
	return deadletters.SavedRule{Rule: deadletters.Rule{Namespace: r.Namespace, Name: r.Name, Position: r.Position,
		When: r.When, GroupBy: r.Keys, Title: r.Title}, Splits: shownGroupID(r.Within), Version: r.Version,
		Since: r.Since, SavedAt: r.SavedAt.Time(), Actor: r.Actor, KeyName: r.Key, Reason: r.Reason, Removed: r.Removed,
		ETag: etag(r.Version)}
}

func shownRuleStatus(s groups.RuleStatus) deadletters.SavedRule {
	out := shownRule(s.Rule)
	out.Failed, out.LastError = s.Faults.Count, s.Faults.Last
	return out
}

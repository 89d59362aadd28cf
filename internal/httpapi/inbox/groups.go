package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type groupFilter struct {
	Namespace string `query:"namespace" maxLength:"255"`
	State     string `query:"state" enum:"open,acknowledged,resolved,ignored"`
	Owner     string `query:"owner" maxLength:"255"`
	Where     string `query:"where" maxLength:"255" doc:"Handler or source."`
	Text      string `query:"text" maxLength:"255" doc:"Literal part of the title."`
	OpenOnly  bool   `query:"open_only" doc:"Only groups with open letters or pending cases."`
	Order     string `query:"order" enum:"last,open,first" default:"last" doc:"last: failed last first; open: most open items first; first: newest first."`
	endpoint.PageQuery
}

// groups serves GET /v1/groups. A key with one namespace sees that one without naming it; a key with several must name
// one.
func (f *family) groups(ctx context.Context, params *groupFilter, _ *endpoint.None) (*deadletters.GroupPage, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	return f.backend.Groups(ctx, deadletters.GroupFilter{Namespace: namespace,
		State: deadletters.GroupState(params.State), Owner: params.Owner, Where: params.Where, Text: params.Text,
		OpenOnly: params.OpenOnly, Order: params.Order, Limit: params.Limit, Cursor: params.Cursor})
}

// GroupPath names a group, to embed.
type GroupPath struct {
	ID string `path:"group_id" minLength:"16" maxLength:"16" doc:"The group: 16 hexadecimal digits."`
}

type groupAct struct {
	GroupPath
	endpoint.Match
}

// group serves GET /v1/groups/{group_id}. Its sample is a letter, which not every reader of groups may see; it is then
// left out without a notice, like a group that has none.
func (f *family) group(ctx context.Context, params *GroupPath, _ *endpoint.None) (*deadletters.GroupStory, error) {
	story, err := f.backend.Group(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	if !seesContent(ctx) {
		story.Sample = nil
	}
	return story, nil
}

// changeGroup serves PATCH /v1/groups/{group_id}. The backend limits the act to the namespaces of the key. An empty
// change is invalid, and so is a bound that goes with another state; several fields are one act in the audit trail.
func (f *family) changeGroup(ctx context.Context, params *groupAct, body *deadletters.GroupChange,
) (*deadletters.Group, error) {
	return acted(ctx, params.Match, &body.Act, f.backend.ChangeGroup, params.ID, body)
}

// changeGroups serves PATCH /v1/groups. A group that refuses, or is not there for the key, is answered in its place.
func (f *family) changeGroups(ctx context.Context, _ *endpoint.None, body *deadletters.GroupsChange,
) (*deadletters.ChangedGroups, error) {
	return f.backend.ChangeGroups(ctx, *body)
}

// mergeGroups serves POST /v1/groups/{group_id}/merge; the path names the group that shows the others. All groups of
// the body are merged, or none is. The answer has the counts of the group alone: ask for it again to see them with the
// members.
func (f *family) mergeGroups(ctx context.Context, params *groupAct, body *deadletters.MergeRequest,
) (*deadletters.Group, error) {
	return acted(ctx, params.Match, &body.Act, f.backend.MergeGroups, params.ID, body)
}

// unmergeGroup serves POST /v1/groups/{group_id}/unmerge; the path names a merged group. A group that is not merged is
// refused with wrong_state.
func (f *family) unmergeGroup(ctx context.Context, params *groupAct, body *deadletters.Act,
) (*deadletters.Group, error) {
	return acted(ctx, params.Match, body, f.backend.UnmergeGroup, params.ID, body)
}

// splitGroup serves POST /v1/groups/{group_id}/split. It answers when the rule is stored; members are moved by a loop
// afterwards. It needs the permission to change groups and not that to save rules: a split decides within one group
// only.
func (f *family) splitGroup(ctx context.Context, params *groupAct, body *deadletters.SplitRequest,
) (*deadletters.SavedRule, error) {
	return acted(ctx, params.Match, &body.Act, f.backend.SplitGroup, params.ID, body)
}

// unsplitGroup serves POST /v1/groups/{group_id}/unsplit; the path names a group that the split made, and the answer is
// the group that was split.
func (f *family) unsplitGroup(ctx context.Context, params *groupAct, body *deadletters.Act,
) (*deadletters.Group, error) {
	return acted(ctx, params.Match, body, f.backend.UnsplitGroup, params.ID, body)
}

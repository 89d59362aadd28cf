package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type ruleList struct {
	Rules []deadletters.SavedRule `json:"rules"`
}

// rules serves GET /v1/rules. The list has no pages: a namespace has a bounded number of rules.
func (f *family) rules(ctx context.Context, params *namespaceQuery, _ *endpoint.None) (ruleList, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return ruleList{}, err
	}
	list, err := f.backend.Rules(ctx, namespace)
	return ruleList{endpoint.List(list)}, err
}

// saveRule serves POST /v1/rules: 201 for a new rule, 200 for a new version of one. An expression is compiled before
// anything is stored; its faults are at JSON pointers, with line and column.
func (f *family) saveRule(ctx context.Context, params *endpoint.Match, body *deadletters.RuleRequest,
) (endpoint.Answer[*deadletters.SavedRule], error) {
	saved, err := save(ctx, body.Namespace, params, &body.Act, f.backend.SaveRule, body)
	if err != nil {
		return endpoint.Answer[*deadletters.SavedRule]{}, err
	}
	return endpoint.Stored(saved.ETag == firstVersion, "/v1/rules", saved), nil
}

// rule serves GET /v1/rules/{namespace}/{name}. It finds a rule that was removed as well, since its groups still name
// it.
func (f *family) rule(ctx context.Context, params *SourcePath, _ *endpoint.None) (*deadletters.RuleStory, error) {
	return f.backend.Rule(ctx, params.Namespace, params.Name)
}

// dropRule serves DELETE /v1/rules/{namespace}/{name}. Its act is in the query, as for sources.
func (f *family) dropRule(ctx context.Context, params *sourceRemoval, _ *endpoint.None) (removal, error) {
	act, err := params.act()
	if err == nil {
		err = f.backend.DropRule(ctx, params.Namespace, params.Name, act)
	}
	return removal{true}, err
}

// testRule tries a rule. On members of a group it could show any part of a letter as a key, so it needs the permission
// to read letters as well.
func (f *family) testRule(ctx context.Context, _ *endpoint.None, body *deadletters.RuleTest,
) (*deadletters.RuleTrial, error) {
	if err := endpoint.ReachNamespace(ctx, body.Rule.Namespace, "/rule/namespace"); err != nil {
		return nil, err
	}
	if body.GroupID != "" {
		if err := require(ctx, "read letters", access.DeadLettersRead); err != nil {
			return nil, err
		}
	}
	return f.backend.TestRule(ctx, *body)
}

package deadletters

import (
	"context"
	"net/http"

	"github.com/taskerhq/tasker/internal/query"
)

func (s server) SaveRule(ctx context.Context, req RuleRequest) (*SavedRule, error) {
	return send[SavedRule](ctx, s, "save rule", http.MethodPost, "/v1/rules", req)
}

func (s server) DropRule(ctx context.Context, namespace, name string, act Act) error {
	return drop(ctx, s, "remove rule", namedIn("/v1/rules", namespace, name), query.Values{}, act)
}

func (s server) Rules(ctx context.Context, namespace string) ([]SavedRule, error) {
	out, err := fetch[struct {
		Rules []SavedRule `json:"rules"`
	}](ctx, s, "list rules", "/v1/rules", inNamespace(namespace))
	if err != nil {
		return nil, err
	}
	return out.Rules, nil
}

func (s server) Rule(ctx context.Context, namespace, name string) (*RuleStory, error) {
	return fetch[RuleStory](ctx, s, "get rule", namedIn("/v1/rules", namespace, name), nil)
}

func (s server) TestRule(ctx context.Context, test RuleTest) (*RuleTrial, error) {
	return send[RuleTrial](ctx, s, "test rule", http.MethodPost, "/v1/rules/test", test)
}

func (s server) SplitGroup(ctx context.Context, id string, req SplitRequest) (*SavedRule, error) {
	return send[SavedRule](ctx, s, "split group", http.MethodPost, named("/v1/groups", id)+"/split", req)
}

func (s server) UnsplitGroup(ctx context.Context, id string, act Act) (*Group, error) {
	return send[Group](ctx, s, "undo split", http.MethodPost, named("/v1/groups", id)+"/unsplit", act)
}

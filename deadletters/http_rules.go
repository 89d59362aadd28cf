package deadletters

import (
	"context"
	"net/http"

	"github.com/taskerhq/tasker/internal/query"
)

// SaveRule implements RuleBackend.
func (s server) SaveRule(ctx context.Context, req RuleRequest) (*SavedRule, error) {
	return send[SavedRule](ctx, s, "save rule", http.MethodPost, "/v1/rules", req)
}

// DropRule implements RuleBackend.
func (s server) DropRule(ctx context.Context, namespace, name string, act Act) error {
	path, err := namedIn("/v1/rules", namespace, name)
	if err != nil {
		return err
	}
	return drop(ctx, s, "remove rule", path, query.Values{}, act)
}

// Rules implements RuleBackend.
func (s server) Rules(ctx context.Context, namespace string) ([]SavedRule, error) {
	q := query.Values{}
	q.Set("namespace", namespace)
	out, err := fetch[struct {
		Rules []SavedRule `json:"rules"`
	}](ctx, s, "list rules", "/v1/rules", q)
	if err != nil {
		return nil, err
	}
	return out.Rules, nil
}

// Rule implements RuleBackend.
func (s server) Rule(ctx context.Context, namespace, name string) (*RuleStory, error) {
	path, err := namedIn("/v1/rules", namespace, name)
	if err != nil {
		return nil, err
	}
	return fetch[RuleStory](ctx, s, "get rule", path, nil)
}

// TestRule implements RuleBackend.
func (s server) TestRule(ctx context.Context, test RuleTest) (*RuleTrial, error) {
	return send[RuleTrial](ctx, s, "test rule", http.MethodPost, "/v1/rules/test", test)
}

// SplitGroup implements GroupBackend.
func (s server) SplitGroup(ctx context.Context, id string, req SplitRequest) (*SavedRule, error) {
	path, err := named("/v1/groups", id)
	if err != nil {
		return nil, err
	}
	return send[SavedRule](ctx, s, "split group", http.MethodPost, path+"/split", req)
}

// UnsplitGroup implements GroupBackend.
func (s server) UnsplitGroup(ctx context.Context, id string, act Act) (*Group, error) {
	path, err := named("/v1/groups", id)
	if err != nil {
		return nil, err
	}
	return send[Group](ctx, s, "undo split", http.MethodPost, path+"/unsplit", act)
}

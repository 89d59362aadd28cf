package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type policyList struct {
	Policies []deadletters.Policy `json:"policies"`
}

// policies serves GET /v1/policies. The list has no pages: a namespace has few policies.
func (f *family) policies(ctx context.Context, params *namespaceQuery, _ *endpoint.None) (policyList, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return policyList{}, err
	}
	list, err := f.backend.Policies(ctx, namespace)
	return policyList{endpoint.List(list)}, err
}

// savePolicy serves POST /v1/policies: 201 for a new policy, 200 for a replaced one. The policy is replaced whole, so a
// field that is left out takes its default. If-Match for a policy that does not exist is a conflict.
func (f *family) savePolicy(ctx context.Context, params *endpoint.Match, body *deadletters.PolicyRequest,
) (endpoint.Answer[*deadletters.Policy], error) {
	saved, err := save(ctx, body.Namespace, params, &body.Act, f.backend.SavePolicy, body)
	if err != nil {
		return endpoint.Answer[*deadletters.Policy]{}, err
	}
	// There is no route of a single policy, so the location is that of the list.
	return endpoint.Stored(saved.ETag == firstVersion, "/v1/policies", saved), nil
}

// policyRemoval names a policy to remove: its source and origin may contain any character, so they are no path.
type policyRemoval struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to default."`
	Source    string `query:"source" required:"true" minLength:"1" maxLength:"255"`
	Origin    string `query:"origin" maxLength:"255" doc:"Defaults to the policy for every origin of the source."`
	ActQuery
}

// dropPolicy serves DELETE /v1/policies. A policy that does not exist is not found, so that a misspelt origin does not
// look like a success.
func (f *family) dropPolicy(ctx context.Context, params *policyRemoval, _ *endpoint.None) (removal, error) {
	var no removal
	if err := endpoint.ReachNamespace(ctx, params.Namespace, "query.namespace"); err != nil {
		return no, err
	}
	act, err := params.act()
	if err == nil {
		err = f.backend.DropPolicy(ctx, params.Namespace, params.Source, params.Origin, act)
	}
	return removal{true}, err
}

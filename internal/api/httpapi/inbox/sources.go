package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

// The lists have no pages: a namespace has few sources and policies, and a bounded number of rules.
type (
	sourceList struct {
		Sources []deadletters.SourceStatus `json:"sources"`
	}
	policyList struct {
		Policies []deadletters.Policy `json:"policies"`
	}
	ruleList struct {
		Rules []deadletters.SavedRule `json:"rules"`
	}
	webhookList struct {
		Webhooks []deadletters.Webhook `json:"webhooks"`
	}
)

const firstVersion = "1"

// saveSource answers 201 for a new source, 200 for a replacement of all settings. It does not connect: a broker that is
// down must not prevent the save.
func (f *family) saveSource(ctx context.Context, _ *endpoint.Match, body *deadletters.SourceRequest,
) (endpoint.Answer[*deadletters.Source], error) {
	saved, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SaveSource, body)
	return endpoint.Stored(err == nil && saved.ETag == firstVersion, "/v1/sources", saved), err
}

func (f *family) savePolicy(ctx context.Context, _ *endpoint.Match, body *deadletters.PolicyRequest,
) (endpoint.Answer[*deadletters.Policy], error) {
	saved, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SavePolicy, body)
	return endpoint.Stored(err == nil && saved.ETag == firstVersion, "/v1/policies", saved), err
}

func (f *family) saveRule(ctx context.Context, _ *endpoint.Match, body *deadletters.RuleRequest,
) (endpoint.Answer[*deadletters.SavedRule], error) {
	saved, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SaveRule, body)
	return endpoint.Stored(err == nil && saved.ETag == firstVersion, "/v1/rules", saved), err
}

// SourcePath names a source or a rule, to embed.
type SourcePath struct {
	Namespace string `path:"namespace" maxLength:"255"`
	Name      string `path:"name" maxLength:"255"`
}

func (p SourcePath) key() SourcePath { return p }

func byName[R any](verb func(_ backend, _ context.Context, namespace, name string) (R, error),
) func(backend, context.Context, SourcePath) (R, error) {
	return func(b backend, ctx context.Context, of SourcePath) (R, error) {
		return verb(b, ctx, of.Namespace, of.Name)
	}
}

type sourceAct struct {
	SourcePath
	endpoint.Match
}

func pausing(paused bool) func(backend, context.Context, SourcePath, deadletters.Act) (*deadletters.Source, error) {
	return func(b backend, ctx context.Context, of SourcePath, act deadletters.Act) (*deadletters.Source, error) {
		return b.PauseSource(ctx, of.Namespace, of.Name, paused, act)
	}
}

type sourceRemoval struct {
	SourcePath
	ActQuery
}

func drop(f *family, verb func(_ backend, _ context.Context, namespace, name string, act deadletters.Act) error,
) handler[sourceRemoval, none, removal] {
	return func(ctx context.Context, params *sourceRemoval, _ *none) (removal, error) {
		return removal{true}, verb(f.backend, ctx, params.Namespace, params.Name, params.act())
	}
}

// policyRemoval has a query: source and origin may contain any character.
type policyRemoval struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to default."`
	Source    string `query:"source" required:"true" minLength:"1" maxLength:"255"`
	Origin    string `query:"origin" maxLength:"255" doc:"Defaults to the policy for every origin of the source."`
	ActQuery
}

// dropPolicy answers not found for a missing policy, so that a misspelt origin does not look like a success.
func (f *family) dropPolicy(ctx context.Context, params *policyRemoval, _ *none) (removal, error) {
	err := endpoint.ReachNamespace(ctx, params.Namespace, "query.namespace")
	if err == nil {
		err = f.backend.DropPolicy(ctx, params.Namespace, params.Source, params.Origin, params.act())
	}
	return removal{true}, err
}

// testRule on members of a group could show any part of a letter as a key, so it needs the permission to read letters,
// too.
func (f *family) testRule(ctx context.Context, _ *none, body *deadletters.RuleTest) (*deadletters.RuleTrial, error) {
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

func (f *family) webhooks(ctx context.Context, _, _ *none) (*webhookList, error) {
	found, err := f.backend.Webhooks(ctx)
	return &webhookList{found}, err
}

// WebhookPath names a webhook, to embed.
type WebhookPath struct {
	Name string `path:"name" minLength:"1" maxLength:"64" doc:"The webhook."`
}

func (p WebhookPath) key() string { return p.Name }

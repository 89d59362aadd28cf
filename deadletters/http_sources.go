package deadletters

import (
	"cmp"
	"context"
	"net/http"

	"github.com/taskerhq/tasker/internal/query"
)

func (s server) SaveSource(ctx context.Context, req SourceRequest) (*Source, error) {
	return send[Source](ctx, s, "save source", http.MethodPost, "/v1/sources", req)
}

func (s server) DropSource(ctx context.Context, namespace, name string, act Act) error {
	return drop(ctx, s, "remove source", namedIn("/v1/sources", namespace, name), query.Values{}, act)
}

func (s server) Sources(ctx context.Context, namespace string) ([]SourceStatus, error) {
	out, err := fetch[struct {
		Sources []SourceStatus `json:"sources"`
	}](ctx, s, "list sources", "/v1/sources", inNamespace(namespace))
	if err != nil {
		return nil, err
	}
	return out.Sources, nil
}

func (s server) Source(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	return fetch[SourceStatus](ctx, s, "get source", namedIn("/v1/sources", namespace, name), nil)
}

func (s server) TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	return send[SourceStatus](ctx, s, "test source", http.MethodPost, namedIn("/v1/sources", namespace, name)+"/test",
		struct{}{})
}

func (s server) PauseSource(ctx context.Context, namespace, name string, paused bool, act Act) (*Source, error) {
	path := namedIn("/v1/sources", namespace, name)
	if paused {
		return send[Source](ctx, s, "pause source", http.MethodPost, path+"/pause", act)
	}
	return send[Source](ctx, s, "resume source", http.MethodPost, path+"/resume", act)
}

// defaultNamespace is the namespace of an object that names none.
const defaultNamespace = "default"

// namedIn appends a namespace and a name to a path.
func namedIn(path, namespace, name string) string {
	return named(named(path, cmp.Or(namespace, defaultNamespace)), name)
}

func (s server) SavePolicy(ctx context.Context, req PolicyRequest) (*Policy, error) {
	return send[Policy](ctx, s, "save policy", http.MethodPost, "/v1/policies", req)
}

func (s server) DropPolicy(ctx context.Context, namespace, source, origin string, act Act) error {
	q := inNamespace(namespace)
	q.Set("source", source)
	q.Set("origin", origin)
	return drop(ctx, s, "remove policy", "/v1/policies", q, act)
}

func (s server) Policies(ctx context.Context, namespace string) ([]Policy, error) {
	out, err := fetch[struct {
		Policies []Policy `json:"policies"`
	}](ctx, s, "list policies", "/v1/policies", inNamespace(namespace))
	if err != nil {
		return nil, err
	}
	return out.Policies, nil
}

func (s server) Webhooks(ctx context.Context) ([]Webhook, error) {
	out, err := fetch[struct {
		Webhooks []Webhook `json:"webhooks"`
	}](ctx, s, "list webhooks", "/v1/webhooks", nil)
	if err != nil {
		return nil, err
	}
	return out.Webhooks, nil
}

func (s server) TestWebhook(ctx context.Context, name string) (*WebhookAnswer, error) {
	return send[WebhookAnswer](ctx, s, "test webhook", http.MethodPost, named("/v1/webhooks", name)+"/test", nil)
}

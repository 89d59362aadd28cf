package deadletters

import (
	"context"
	"net/http"

	"github.com/taskerhq/tasker/internal/query"
)

// SaveSource implements SourceBackend.
func (s server) SaveSource(ctx context.Context, req SourceRequest) (*Source, error) {
	return send[Source](ctx, s, "save source", http.MethodPost, "/v1/sources", req)
}

// DropSource implements SourceBackend.
func (s server) DropSource(ctx context.Context, namespace, name string, act Act) error {
	path, err := sourcePath(namespace, name)
	if err != nil {
		return err
	}
	return drop(ctx, s, "remove source", path, query.Values{}, act)
}

// Sources implements SourceBackend.
func (s server) Sources(ctx context.Context, namespace string) ([]SourceStatus, error) {
	q := query.Values{}
	q.Set("namespace", namespace)
	out, err := fetch[struct {
		Sources []SourceStatus `json:"sources"`
	}](ctx, s, "list sources", "/v1/sources", q)
	if err != nil {
		return nil, err
	}
	return out.Sources, nil
}

// Source implements SourceBackend.
func (s server) Source(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	path, err := sourcePath(namespace, name)
	if err != nil {
		return nil, err
	}
	return fetch[SourceStatus](ctx, s, "get source", path, nil)
}

// TestSource implements SourceBackend.
func (s server) TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	path, err := sourcePath(namespace, name)
	if err != nil {
		return nil, err
	}
	return send[SourceStatus](ctx, s, "test source", http.MethodPost, path+"/test", struct{}{})
}

// PauseSource implements SourceBackend.
func (s server) PauseSource(ctx context.Context, namespace, name string, paused bool, act Act) (*Source, error) {
	path, err := sourcePath(namespace, name)
	if err != nil {
		return nil, err
	}
	if paused {
		return send[Source](ctx, s, "pause source", http.MethodPost, path+"/pause", act)
	}
	return send[Source](ctx, s, "resume source", http.MethodPost, path+"/resume", act)
}

// defaultNamespace is the namespace of an object that names none.
const defaultNamespace = "default"

func sourcePath(namespace, name string) (string, error) {
	return namedIn("/v1/sources", namespace, name)
}

// namedIn appends a namespace and a name to a path.
func namedIn(path, namespace, name string) (string, error) {
	if namespace == "" {
		namespace = defaultNamespace
	}
	path, err := named(path, namespace)
	if err != nil {
		return "", err
	}
	return named(path, name)
}

// SavePolicy implements SourceBackend.
func (s server) SavePolicy(ctx context.Context, req PolicyRequest) (*Policy, error) {
	return send[Policy](ctx, s, "save policy", http.MethodPost, "/v1/policies", req)
}

// DropPolicy implements SourceBackend.
func (s server) DropPolicy(ctx context.Context, namespace, source, origin string, act Act) error {
	q := query.Values{}
	q.Set("namespace", namespace)
	q.Set("source", source)
	q.Set("origin", origin)
	return drop(ctx, s, "remove policy", "/v1/policies", q, act)
}

// Policies implements SourceBackend.
func (s server) Policies(ctx context.Context, namespace string) ([]Policy, error) {
	q := query.Values{}
	q.Set("namespace", namespace)
	out, err := fetch[struct {
		Policies []Policy `json:"policies"`
	}](ctx, s, "list policies", "/v1/policies", q)
	if err != nil {
		return nil, err
	}
	return out.Policies, nil
}

// Webhooks implements WebhookBackend.
func (s server) Webhooks(ctx context.Context) ([]Webhook, error) {
	out, err := fetch[struct {
		Webhooks []Webhook `json:"webhooks"`
	}](ctx, s, "list webhooks", "/v1/webhooks", nil)
	if err != nil {
		return nil, err
	}
	return out.Webhooks, nil
}

// TestWebhook implements WebhookBackend.
func (s server) TestWebhook(ctx context.Context, name string) (*WebhookAnswer, error) {
	path, err := named("/v1/webhooks", name)
	if err != nil {
		return nil, err
	}
	return send[WebhookAnswer](ctx, s, "test webhook", http.MethodPost, path+"/test", nil)
}

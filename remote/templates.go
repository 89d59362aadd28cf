package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// RegisterTemplate is safe to repeat with the same content.
func (b *httpBackend) RegisterTemplate(ctx context.Context, src tasker.TemplateSource) (*tasker.Template, error) {
	return fetch[tasker.Template](ctx, b, call{verb: "register template", method: http.MethodPost, path: "/v1/templates",
		body: src})
}

func (b *httpBackend) Templates(ctx context.Context, f tasker.TemplateFilter) (*tasker.TemplatePage, error) {
	return fetch[tasker.TemplatePage](ctx, b, call{verb: "list templates", method: http.MethodGet, path: "/v1/templates",
		query: url.Values(query.Of(f))})
}

func (b *httpBackend) Template(ctx context.Context, namespace, name, version string) (*tasker.Template, error) {
	if namespace == "" {
		namespace = "default" // a path cannot omit a segment
	}
	segments := []string{"v1", "templates", namespace, name}
	if version != "" {
		segments = append(segments, version)
	}
	path, err := pathOf(segments...)
	if err != nil {
		return nil, err
	}
	return fetch[tasker.Template](ctx, b, call{verb: "get template", method: http.MethodGet, path: path})
}

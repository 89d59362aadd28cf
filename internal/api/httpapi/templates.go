package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
	"github.com/taskerhq/tasker/operate"
)

type templateBody struct {
	tasker.TemplateSource
}

func (b *templateBody) SetText(document string) { b.YAML = document }

// TemplatePath names a template. It is exported for the same reason as TaskPath.
type TemplatePath struct {
	Namespace string `path:"namespace" maxLength:"255"`
	Name      string `path:"name" maxLength:"255"`
}

type versionPath struct {
	TemplatePath
	Version string `path:"version" maxLength:"64"`
}

type templateFilter struct {
	Namespace string `query:"namespace_name" maxLength:"255"`
	Name      string `query:"name" maxLength:"255"`
	endpoint.PageQuery
}

func (s *server) registerTemplate(ctx context.Context, _ *endpoint.None, body *templateBody,
) (endpoint.Answer[*tasker.Template], error) {
	var no endpoint.Answer[*tasker.Template]
	if err := reachDocument(ctx, body.TemplateSource); err != nil {
		return no, err
	}
	body.RegisteredBy = cmp.Or(body.RegisteredBy, endpoint.Caller(ctx))
	registered, err := s.backend.RegisterTemplate(ctx, body.TemplateSource)
	if err != nil {
		return no, err
	}
	location := "/v1/templates/" + url.PathEscape(registered.Namespace) + "/" + url.PathEscape(registered.Name) +
		"/" + url.PathEscape(registered.Version)
	return endpoint.Stored(registered.Created, location, registered), nil
}

func (s *server) listTemplates(ctx context.Context, params *templateFilter, _ *endpoint.None,
) (tasker.TemplatePage, error) {
	var no tasker.TemplatePage
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := s.backend.Templates(ctx, tasker.TemplateFilter{
		Namespace: namespace, Name: params.Name, Limit: params.Limit, Cursor: params.Cursor,
	})
	if err != nil {
		return no, err
	}
	return tasker.TemplatePage{Templates: endpoint.List(page.Templates), NextCursor: page.NextCursor}, nil
}

func (s *server) getTemplate(ctx context.Context, params *TemplatePath, _ *endpoint.None) (*tasker.Template, error) {
	return s.template(ctx, params.Namespace, params.Name, "")
}

func (s *server) getTemplateVersion(ctx context.Context, params *versionPath, _ *endpoint.None,
) (*tasker.Template, error) {
	return s.template(ctx, params.Namespace, params.Name, params.Version)
}

// template returns a version, "" for the newest. The path names the namespace, so a key outside is forbidden.
func (s *server) template(ctx context.Context, namespace, name, version string) (*tasker.Template, error) {
	if err := endpoint.ReachNamespace(ctx, namespace, "path.namespace"); err != nil {
		return nil, err
	}
	return s.backend.Template(ctx, namespace, name, version)
}

// reachDocument refuses a template of a namespace outside the limits. It uses the engine's parser: another one could
// see another namespace.
func reachDocument(ctx context.Context, src tasker.TemplateSource) error {
	if !access.From(ctx).Limited() {
		return nil
	}
	anyLevel := func(string) (int, bool) { return 0, true }
	parsed, err := template.Parse(cmp.Or(src.Filename, "template"), []byte(src.YAML), anyLevel)
	if err != nil {
		return unreadable(err)
	}
	return endpoint.ReachNamespace(ctx, parsed.Namespace, "namespace_name")
}

func unreadable(err error) error {
	var e *task.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("read template: %w", err)
	}
	out := &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint, Err: err}
	for _, p := range e.Problems {
		out.Details = append(out.Details, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	return out
}

type statsPath struct {
	TemplatePath
	Version string `path:"version" maxLength:"64"`
	Tasks   int    `query:"tasks" minimum:"1" maximum:"1000" default:"100" doc:"Newest tasks to look at."`
}

func (s *server) getTemplateStats(ctx context.Context, params *statsPath, _ *endpoint.None,
) (*operate.TemplateStats, error) {
	if err := endpoint.ReachNamespace(ctx, params.Namespace, "path.namespace"); err != nil {
		return nil, err
	}
	return s.backend.TemplateStats(ctx, operate.TemplateStatsFilter{Namespace: params.Namespace,
		Name: params.Name, Version: params.Version, Tasks: params.Tasks})
}

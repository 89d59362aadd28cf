package httpapi

import (
	"cmp"
	"context"
	"net/url"

	"github.com/taskerhq/tasker"
)

// templateBody is a tasker.TemplateSource that may also be sent as bare YAML.
type templateBody struct {
	tasker.TemplateSource
}

func (b *templateBody) setText(document string) { b.YAML = document }

// TemplatePath names a template. It is exported for the same reason as TaskPath.
type TemplatePath struct {
	Namespace string `path:"namespace" maxLength:"255"`
	Name      string `path:"name" maxLength:"255"`
}

// versionPath names a version of a template.
type versionPath struct {
	TemplatePath
	Version string `path:"version" maxLength:"64"`
}

// templateFilter is a tasker.TemplateFilter as a query.
type templateFilter struct {
	Namespace string `query:"namespace_name" maxLength:"255"`
	Name      string `query:"name" maxLength:"255"`
	PageQuery
}

func (s *server) registerTemplate(ctx context.Context, _ *none, body *templateBody) (answer[*tasker.Template], error) {
	var no answer[*tasker.Template]
	if err := reachDocument(ctx, body.TemplateSource); err != nil {
		return no, err
	}
	body.RegisteredBy = cmp.Or(body.RegisteredBy, callerOf(ctx))
	template, err := s.backend.RegisterTemplate(ctx, body.TemplateSource)
	if err != nil {
		return no, err
	}
	location := "/v1/templates/" + url.PathEscape(template.Namespace) + "/" + url.PathEscape(template.Name) +
		"/" + url.PathEscape(template.Version)
	return stored(template.Created, location, template), nil
}

func (s *server) listTemplates(ctx context.Context, params *templateFilter,
	_ *none,
) (answer[tasker.TemplatePage], error) {
	var no answer[tasker.TemplatePage]
	namespace, err := narrow(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := s.backend.Templates(ctx, tasker.TemplateFilter{
		Namespace: namespace, Name: params.Name, Limit: params.Limit, Cursor: params.Cursor,
	})
	if err != nil {
		return no, err
	}
	return ok(tasker.TemplatePage{Templates: list(page.Templates), NextCursor: page.NextCursor}), nil
}

func (s *server) getTemplate(ctx context.Context, params *TemplatePath, _ *none) (answer[*tasker.Template], error) {
	return s.template(ctx, params.Namespace, params.Name, "")
}

func (s *server) getTemplateVersion(ctx context.Context, params *versionPath,
	_ *none,
) (answer[*tasker.Template], error) {
	return s.template(ctx, params.Namespace, params.Name, params.Version)
}

func (s *server) template(ctx context.Context, namespace, name, version string) (answer[*tasker.Template], error) {
	if err := reachNamespace(ctx, namespace, "path.namespace"); err != nil {
		return answer[*tasker.Template]{}, err
	}
	template, err := s.backend.Template(ctx, namespace, name, version)
	return ok(template), err
}

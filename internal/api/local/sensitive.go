package local

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/task"
)

// OfTask returns the sensitive pointers of a task's template. With an unreadable template everything is sensitive.
// CodeNotFound: no such task, or one outside the key's reach.
func (b *Backend) OfTask(ctx context.Context, id uuid.UUID) (sensitive.Rule, error) {
	t, err := b.engine.Task(ctx, toID(id), 0)
	if err != nil {
		return sensitive.Rule{}, ToError(err)
	}
	template, err := b.engine.TemplateOf(ctx, t.DefID)
	if err != nil {
		return sensitive.Rule{}, ToError(err)
	}
	rule := ruleOf(template)
	if in := t.Meta.Intake; in != nil {
		rule.Namespace, rule.Source = template.Namespace, in.Source
	}
	return rule, nil
}

// OfTemplate returns the sensitive pointers of a version of a template; "" is the newest. CodeNotFound: there is none.
func (b *Backend) OfTemplate(ctx context.Context, namespace, name, version string) (sensitive.Rule, error) {
	return as(ruleOf)(b.engine.Template(ctx, namespace, name, version))
}

// OfCase is OfTask for the task of a case.
func (b *Backend) OfCase(ctx context.Context, id uuid.UUID) (sensitive.Rule, error) {
	of, err := b.Case(ctx, id)
	if err != nil {
		return sensitive.Rule{}, err
	}
	return b.OfTask(ctx, of.TaskUUID)
}

const templatesAtOnce = 1000

// OfTemplates joins the rules of a namespace's templates; "" means all namespaces. With more than templatesAtOnce,
// everything is sensitive.
func (b *Backend) OfTemplates(ctx context.Context, namespace string) (sensitive.Rule, error) {
	list, err := b.rows.ListTemplates(ctx, engine.TemplateFilter{Namespace: namespace, Limit: templatesAtOnce})
	if err != nil {
		return sensitive.Rule{}, ToError(err)
	}
	if len(list) == templatesAtOnce {
		return sensitive.Rule{Pointers: []string{""}}, nil
	}
	var all sensitive.Rule
	for _, t := range list {
		all.Pointers = append(all.Pointers, ruleOf(t).Pointers...)
	}
	return all, nil
}

func ruleOf(t *task.Template) sensitive.Rule {
	if t.Unread != "" {
		return sensitive.Rule{Pointers: []string{""}}
	}
	return sensitive.Rule{Pointers: t.Sensitive}
}

// NoteLook records that the key of ctx sees sensitive values.
func (b *Backend) NoteLook(ctx context.Context, look sensitive.Look) error {
	return ToError(b.engine.NoteLook(ctx, look))
}

package engine

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/task"
)

// RegisterTemplate stores a version of a template and reports whether it is
// new. A version is immutable: the same content again is a no-op, other content
// is Conflict.
func (e *Engine) RegisterTemplate(ctx context.Context, t *task.Template) (*task.Template, bool, error) {
	if len(t.InputSchema) > 0 && e.schemas != nil {
		if _, err := e.schemas(t.InputSchema); err != nil {
			return nil, false, err
		}
	}
	fresh := *t
	fresh.CreatedAt = e.now().UTC()
	have, err := e.catalog.named(ctx, t.Namespace, t.Name, t.Version)
	if err != nil {
		return nil, false, fmt.Errorf("find template %s: %w", t.Name, err)
	}
	created := have == nil
	if created {
		if have, err = e.catalog.insert(ctx, &fresh); err != nil {
			return nil, false, fmt.Errorf("store template %s: %w", t.Name, err)
		}
		// somebody else may have been first
		created = have.CreatedAt.Equal(fresh.CreatedAt) && have.Fingerprint == fresh.Fingerprint
	}
	if have.Fingerprint != t.Fingerprint {
		return nil, false, &task.Error{Code: task.Conflict,
			Message: fmt.Sprintf("version %s of template %s/%s is registered with other content", t.Version, t.Namespace, t.Name),
			Hint:    "a version never changes, because tasks may be running on it: raise the version"}
	}
	return have, created, nil
}

// Template returns a version, the newest when version is "", or NotFound.
func (e *Engine) Template(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	t, err := e.catalog.named(ctx, namespace, name, version)
	if err != nil {
		return nil, err
	}
	if t == nil {
		what := "template " + namespace + "/" + name
		if version != "" {
			what += " version " + version
		}
		return nil, task.Errorf(task.NotFound, "there is no %s", what)
	}
	return t, nil
}

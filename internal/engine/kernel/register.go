package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Registration is the actor and the reason of a registration. Defaults: the holder of the key or Anonymous; NoReason.
type Registration struct {
	Actor  string
	Reason string
}

// RegisterTemplate stores a version of a parsed template with an act, and reports whether it is new. Versions are
// immutable: equal content is a no-op, other content is Conflict. Invalid: the actor, the reason or the input schema.
func (e *Kernel) RegisterTemplate(ctx context.Context, t *task.Template,
	by Registration,
) (*task.Template, bool, error) {
	if problems := check.Renamed(CheckActor(by.Actor, by.Reason), "/actor", "/registered_by"); len(problems) > 0 {
		return nil, false, check.Refusal("the template was not registered", problems)
	}
	if len(t.InputSchema) > 0 && e.Schemas != nil {
		if _, err := e.Schemas(t.InputSchema); err != nil {
			return nil, false, err
		}
	}
	fresh := *t
	fresh.CreatedAt = e.Clock().UTC()
	have, err := e.Catalog.TemplateNamed(ctx, t.Namespace, t.Name, t.Version)
	if err != nil {
		return nil, false, fmt.Errorf("find template %s: %w", t.Name, err)
	}
	created := have == nil
	if created {
		act, err := e.registration(ctx, &fresh, by)
		if err != nil {
			return nil, false, err
		}
		if have, err = e.Catalog.insert(ctx, &fresh, act); err != nil {
			return nil, false, fmt.Errorf("store template %s: %w", t.Name, err)
		}
		// another process may be first
		created = have.CreatedAt.Equal(fresh.CreatedAt) && have.Fingerprint == fresh.Fingerprint
	}
	if have.Fingerprint != t.Fingerprint {
		return nil, false, &task.Error{Code: task.Conflict,
			Message: fmt.Sprintf("version %s of template %s/%s is registered with other content", t.Version, t.Namespace,
				t.Name),
			Hint: "a version never changes, because tasks may be running on it: raise the version"}
	}
	return have, created, nil
}

func (e *Kernel) registration(ctx context.Context, t *task.Template, by Registration) (task.Act, error) {
	data, err := json.Marshal(struct {
		Version     string `json:"version"`
		Fingerprint string `json:"fingerprint"`
	}{t.Version, t.Fingerprint})
	if err != nil {
		return task.Act{}, fmt.Errorf("encode act: %w", err)
	}
	act := task.Act{At: e.Now(), Namespace: t.Namespace, Template: t.Name, Kind: task.ActRegisterTemplate,
		To:    t.Version,
		Actor: ActorOf(ctx, by.Actor), Reason: cmp.Or(by.Reason, NoReason), Data: data}
	SignAct(&act, KeyOf(ctx))
	return act, nil
}

// Template returns a version, the newest for "", or NotFound. An empty namespace means DefaultNamespace. WrongState:
// the stored version is damaged.
func (e *Kernel) Template(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	var t *task.Template
	// The query of an invalid name would fail, and with it others that share it.
	if task.TextFault(namespace+name+version, 3*task.MaxName) == "" {
		var err error
		if t, err = e.Catalog.TemplateNamed(ctx, namespace, name, version); err != nil {
			return nil, err
		}
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

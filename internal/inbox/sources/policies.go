package sources

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SavePolicy adds or replaces a policy of a source, of one of its origins, or without a source of the whole namespace.
// It applies to letters that arrive or come back from then on; scheduled ones keep their time.
func (in *Registry) SavePolicy(ctx context.Context, p *deadletter.Policy, by desk.By) (*deadletter.Policy, error) {
	if err := desk.Reach(ctx, p.Namespace); err != nil {
		return nil, err
	}
	if p.Source != "" {
		if _, err := in.SourceOf(ctx, p.Namespace, p.Source); err != nil {
			return nil, err
		}
	}
	by, err := desk.Signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return in.savePolicy(ctx, p, by, func(context.Context, engine.Tx) error { return nil })
}

// also runs in the same transaction.
func (in *Registry) savePolicy(ctx context.Context, p *deadletter.Policy, by desk.By,
	also func(ctx context.Context, tx engine.Tx) error,
) (*deadletter.Policy, error) {
	next := p.WithDefaults()
	next.SetFrom, next.SetAt = cmp.Or(p.SetFrom, model.SetByOperator), in.Now()
	if next.SetFrom != model.SetByConfiguration && next.SetFrom != model.SetByEnvironment {
		next.SetBy = by.Actor
	}
	if problems := next.Validate(); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the policy was not saved", Problems: problems}
	}
	return desk.Versioned(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx) (*deadletter.Policy, error) {
		known, err := in.store.Policy(ctx, tx, p.Namespace, p.Source, p.Origin)
		if err != nil {
			return nil, err
		}
		version := int64(0)
		if known != nil {
			version = known.Version
		}
		if err := by.Expected("the policy", version); err != nil {
			return nil, err
		}
		next.Version = version + 1
		return &next, errors.Join(in.store.SavePolicy(ctx, tx, &next), in.Act(ctx, tx, desk.Act{Kind: "set_policy", By: by,
			Namespace: p.Namespace, Of: policyName(p), Before: recordOfPolicy(known), After: recordOfPolicy(&next)}),
			also(ctx, tx))
	})
}

// ChangePolicy changes the policy of a source and origin. A new one discards letters after seven days, or after the
// greatest age of the default policy.
func (in *Registry) ChangePolicy(ctx context.Context, namespace, source, origin string, by desk.By,
	change func(p *deadletter.Policy),
) (*deadletter.Policy, error) {
	for range desk.VersionRuns {
		list, err := in.Policies(ctx, namespace)
		if err != nil {
			return nil, err
		}
		next := deadletter.Policy{Namespace: namespace, Source: source, Origin: origin, MaxAge: deadletter.DefaultAge}
		if rest := in.opts.DefaultPolicy; rest != nil {
			next.MaxAge = rest.MaxAge
		}
		as := by
		as.Version = 0
		for _, p := range list {
			if p.Source == source && p.Origin == origin {
				next, as.Version = *p, p.Version
			}
		}
		next.SetFrom = model.SetByOperator
		change(&next)
		saved, err := in.SavePolicy(ctx, &next, as)
		if task.CodeOf(err) != task.Conflict || as.Version == 0 {
			return saved, err
		}
	}
	return nil, desk.Hinted(task.Conflict, "try again", "others change the policy all the time")
}

// DropPolicy removes a policy: its letters are left to operators, but scheduled ones are still sent. origin "" is the
// policy of the whole source. The source may be gone: its policy would apply to a new one of that name.
func (in *Registry) DropPolicy(ctx context.Context, namespace, source, origin string, by desk.By) error {
	if !desk.Nameable(ctx, namespace, source) {
		return NoSource(source)
	}
	_, err := desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Policy,
		error,
	) {
		known, err := in.store.Policy(ctx, tx, namespace, source, origin)
		switch {
		case err != nil:
			return nil, err
		case known == nil && origin == "":
			return nil, task.Errorf(task.NotFound, "the source %q has no policy for all its origins", cmp.Or(source, "*"))
		case known == nil:
			return nil, task.Errorf(task.NotFound, "the source %q has no policy for the origin %q", source, origin)
		}
		if err := by.Expected("the policy", known.Version); err != nil {
			return nil, err
		}
		return known, errors.Join(in.store.DropPolicy(ctx, tx, known), in.Act(ctx, tx, desk.Act{Kind: "remove_policy", By: by,
			Namespace: namespace, Of: policyName(known), Before: recordOfPolicy(known)}))
	})
	return err
}

// Policies returns the policies of a namespace, or of all that the request reaches (""). For one namespace the list
// includes the default policy where no stored one precedes it, with version 0.
func (in *Registry) Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error) {
	namespace, err := desk.Narrow(ctx, namespace)
	if err != nil {
		return nil, err
	}
	list, err := in.store.Policies(ctx, namespace)
	if rest := in.opts.DefaultPolicy; err == nil && rest != nil && namespace != "" &&
		!slices.ContainsFunc(list, func(p *deadletter.Policy) bool { return p.Source+p.Origin == "" }) {
		shown := *rest
		shown.Namespace = namespace
		list = append(list, &shown)
	}
	return list, err
}

func policyName(p *deadletter.Policy) string {
	source := cmp.Or(p.Source, "*")
	if p.Origin == "" {
		return source
	}
	return source + "/" + p.Origin
}

func recordOfPolicy(p *deadletter.Policy) any {
	if p == nil {
		return nil
	}
	return *p
}

package inbox

import (
	"cmp"
	"context"
	"math/rand/v2"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// SavePolicy adds a policy for a source, or one of its origins, or replaces it whole. It applies to letters that arrive
// or come back from then on; those that are scheduled keep their time. NotFound for an unknown source, Invalid with a
// pointer for each fault, Conflict for another version.
func (in *Inbox) SavePolicy(ctx context.Context, p *deadletter.Policy, by By) (*deadletter.Policy, error) {
	if _, err := in.source(ctx, p.Namespace, p.Source); err != nil {
		return nil, err
	}
	by, key, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	next := p.WithDefaults()
	if problems := next.Validate(); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the policy was not saved", Problems: problems}
	}
	err = in.versioned(ctx, by, func(ctx context.Context, tx engine.Tx) error {
		known, err := in.store.Policy(ctx, tx, p.Namespace, p.Source, p.Origin)
		if err != nil {
			return err
		}
		version := int64(0)
		if known != nil {
			version = known.Version
		}
		if err := by.expected("the policy", version); err != nil {
			return err
		}
		next.Version = version + 1
		if err := in.store.SavePolicy(ctx, tx, &next); err != nil {
			return err
		}
		return in.act(ctx, tx, act{kind: "set_policy", by: by, key: key, namespace: p.Namespace, of: policyName(p),
			before: recordOfPolicy(known), after: recordOfPolicy(&next)})
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// DropPolicy removes a policy: letters of its origin are then left to operators. Letters that are scheduled are still
// sent. origin is "" for the policy of the whole source. NotFound when there is none. A policy whose source was removed
// can be removed, too: it would apply again to a source that is added under the name.
func (in *Inbox) DropPolicy(ctx context.Context, namespace, source, origin string, by By) error {
	if !nameable(ctx, namespace, source) {
		return noSource(source)
	}
	by, key, err := signed(ctx, by)
	if err != nil {
		return err
	}
	return in.versioned(ctx, by, func(ctx context.Context, tx engine.Tx) error {
		known, err := in.store.Policy(ctx, tx, namespace, source, origin)
		if err != nil {
			return err
		}
		if known == nil {
			if origin == "" {
				return task.Errorf(task.NotFound, "the source %q has no policy for all its origins", source)
			}
			return task.Errorf(task.NotFound, "the source %q has no policy for the origin %q", source, origin)
		}
		if err := by.expected("the policy", known.Version); err != nil {
			return err
		}
		if err := in.store.DropPolicy(ctx, tx, known); err != nil {
			return err
		}
		return in.act(ctx, tx, act{kind: "remove_policy", by: by, key: key, namespace: namespace, of: policyName(known),
			before: recordOfPolicy(known)})
	})
}

// Policies returns the policies of a namespace, or of all that the request reaches ("").
func (in *Inbox) Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error) {
	namespace, err := narrow(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return in.store.Policies(ctx, namespace)
}

// policiesOf returns the policies of a source.
func (in *Inbox) policiesOf(ctx context.Context, s *deadletter.Source) ([]*deadletter.Policy, error) {
	all, err := in.store.Policies(ctx, s.Namespace)
	if err != nil {
		return nil, err
	}
	return policiesFor(all, s.Namespace, s.Name), nil
}

// policiesFor returns those of a source.
func policiesFor(all []*deadletter.Policy, namespace, source string) []*deadletter.Policy {
	var of []*deadletter.Policy
	for _, p := range all {
		if p.Namespace == namespace && p.Source == source {
			of = append(of, p)
		}
	}
	return of
}

// policyFor returns the policy for an origin: its own, else that of the source, else nil. The order of the list does
// not matter.
func policyFor(policies []*deadletter.Policy, origin string) *deadletter.Policy {
	var of *deadletter.Policy
	for _, p := range policies {
		switch p.Origin {
		case origin:
			return p
		case "":
			of = p
		}
	}
	return of
}

// decide applies the policies of a source to an open letter of it: it is scheduled, discarded, or left with a reason.
// failed is why the last send failed, "" where none did. The decision is noted in made, for the audit trail.
func (in *Inbox) decide(policies []*deadletter.Policy, l *deadletter.Letter, failed string, now task.Instant,
	made decisions,
) {
	p := policyFor(policies, l.Origin)
	if p == nil {
		return
	}
	d := p.Decide(l, now, in.roll())
	if d.Reason != "" && failed != "" {
		d.Reason += "; the last send: " + failed
	}
	// An open letter can be discarded and scheduled: there is no error.
	switch d.Verdict {
	case deadletter.VerdictDiscard:
		_ = l.Discard("policy: "+d.Reason, now, deadletter.Retention)
	case deadletter.VerdictSend:
		_ = l.Schedule(d.At, now)
		l.Reason = failed
	default:
		l.Reason = cmp.Or(d.Reason, failed)
	}
	made.note(p, l)
}

// policyName names a policy in the audit trail: the source, and the origin behind a slash if it has one.
func policyName(p *deadletter.Policy) string {
	if p.Origin == "" {
		return p.Source
	}
	return p.Source + "/" + p.Origin
}

// roll returns a random number from 0 to below 1, for jitter. Chance is an argument of the domain; it is made here.
func (in *Inbox) roll() float64 { return rand.Float64() }

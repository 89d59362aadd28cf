package public

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
)

func (b *backend) SavePolicy(ctx context.Context, req deadletters.PolicyRequest) (*deadletters.Policy, error) {
	var r reader
	policy, by := r.policy(&req.Policy), r.by(req.Act)
	if req.SetFrom == model.SetByPreset { // the only one that is the caller's to say
		policy.SetFrom = model.SetByPreset
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	saved, err := b.inbox.SavePolicy(ctx, policy, by)
	for domain, public := range deadletter.PolicyFields {
		err = relocated(err, domain, public)
	}
	return shown(shownPolicy)(saved, err)
}

// The origin "" is the policy of the whole source.
func (b *backend) DropPolicy(ctx context.Context, namespace, source, origin string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return shownError(b.inbox.DropPolicy(ctx, cmp.Or(namespace, defaultNamespace), policySource(source), origin,
		by))
}

func (b *backend) Policies(ctx context.Context, namespace string) ([]deadletters.Policy, error) {
	return shownList(shownPolicy)(b.inbox.Policies(ctx, namespace))
}

// policy converts a policy. Its ETag is not read: the version that the caller expects is part of the act.
func (r *reader) policy(p *deadletters.Policy) *deadletter.Policy {
	return &deadletter.Policy{
		Namespace: cmp.Or(p.Namespace, defaultNamespace), Source: policySource(p.Source), Origin: p.Origin,
		Strategy: p.Strategy, MaxRetries: p.MaxRetries, KeepExhausted: p.KeepExhausted,
		Base: r.seconds("/base_seconds", p.BaseSeconds), Cap: r.seconds("/cap_seconds", p.CapSeconds),
		Multiplier: p.Multiplier, Jitter: p.Jitter, At: r.timeOfDay("/time_of_day", p.TimeOfDay),
		MaxAge: r.seconds("/max_age_seconds", p.MaxAgeSeconds), OnlyTypes: p.OnlyTypes,
		DiscardTests: p.DiscardTests, CopyRetries: p.CopyRetries,
	}
}

// policySource converts the name of the source of a policy: * is all of them.
func policySource(name string) string {
	if name == deadletters.AllSources {
		return ""
	}
	return name
}

// shownPolicy converts a policy. Only a scheduled one has a time of day: midnight is 0 in the domain, as is no time.
func shownPolicy(p *deadletter.Policy) deadletters.Policy {
	out := deadletters.Policy{
		Namespace: p.Namespace, Source: cmp.Or(p.Source, deadletters.AllSources), Origin: p.Origin,
		Strategy:   p.Strategy,
		MaxRetries: p.MaxRetries, KeepExhausted: p.KeepExhausted, BaseSeconds: p.Base.Seconds(),
		CapSeconds: p.Cap.Seconds(), Multiplier: p.Multiplier, Jitter: p.Jitter, MaxAgeSeconds: p.MaxAge.Seconds(),
		OnlyTypes: p.OnlyTypes, DiscardTests: p.DiscardTests, CopyRetries: p.CopyRetries,
		SetFrom: cmp.Or(p.SetFrom, model.SetByOperator), SetBy: p.SetBy,
		SetAt: p.SetAt.Ptr(), ETag: etag(p.Version),
	}
	if p.Strategy == model.Scheduled {
		out.TimeOfDay = fmt.Sprintf("%02d:%02d", int(p.At/time.Hour), int(p.At%time.Hour/time.Minute))
	}
	return out
}

package scenario_test

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) configureDelivery(a *args) error {
	d := &in.config.Delivery
	d.Offered = true
	d.OnExpiry = settings.OnExpiry(a.text("on_expiry"))
	return firstError(a.duration("dispatch_ttl", &d.TTL), a.number("expiry_limit", &d.ExpiryLimit))
}

func (in *interpreter) dispatch(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	n := 1
	if err := a.number("n", &n); err != nil {
		return nil, err
	}
	steps, drain, err := in.engine.Dispatch(in.ctx, h.id, n, 0)
	if err != nil {
		return nil, err
	}
	leases, ttls := make([]engine.Lease, len(steps)), make([]time.Duration, len(steps))
	for i, s := range steps {
		leases[i], ttls[i] = s.Lease, s.TTL
	}
	out := in.leases(h, leases, drain)
	for i, ttl := range ttls {
		out[i] += " ttl=" + ttl.String()
	}
	return out, nil
}

func (in *interpreter) letter(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	var expired []engine.ExpiredDispatch
	for _, name := range a.places[1:] {
		_, r, err := in.target(name)
		if err != nil {
			return nil, err
		}
		expired = append(expired, engine.ExpiredDispatch{At: task.At(in.now),
			Lease: engine.LeaseRef{Step: r.ID, Token: h.tokens[name], Worker: h.no}})
	}
	answers, err := in.engine.ExpireDispatches(in.ctx, expired)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, x := range answers {
		line := fmt.Sprintf("%s %s", a.places[i+1], x.State)
		if x.Err != nil {
			line += ", late: " + string(task.CodeOf(x.Err))
		}
		if x.NextRetryAt != 0 {
			line += " retry=" + in.sinceStart(x.NextRetryAt)
		}
		out = append(out, line)
	}
	return out, nil
}

func (in *interpreter) cordon(a *args) ([]string, error) { return in.cordonBy(a, in.engine.Cordon) }

func (in *interpreter) uncordon(a *args) ([]string, error) { return in.cordonBy(a, in.engine.Uncordon) }

func (in *interpreter) cordonBy(a *args,
	verb func(context.Context, task.ID, engine.WorkerAct) (*task.Worker, error),
) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	_, err = verb(in.ctx, h.id, engine.WorkerAct{Actor: a.text("by"), Reason: a.text("reason")})
	return nil, err
}

package local

import (
	"cmp"
	"context"
	"time"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const maxPeriod = 1e8

// SetLimit implements flow.Backend.
func (b *Backend) SetLimit(ctx context.Context, req flow.LimitRequest) (*flow.Limit, error) {
	r := engine.LimitRequest{Target: limitTarget(req.LimitTarget), Permits: req.Concurrency, Actor: req.SetBy,
		Reason: req.Reason}
	if req.Rate != nil {
		per := max(min(req.Rate.Period, maxPeriod), 0)
		r.Rate.Count, r.Rate.Burst = req.Rate.Limit, cmp.Or(req.Rate.Burst, req.Rate.Limit)
		r.Rate.Per = max(time.Duration(per*float64(time.Second)).Round(time.Microsecond), 1) // a zero period is a fault, not the default
	}
	l, created, err := b.engine.SetLimit(ctx, r)
	if err != nil {
		return nil, ToError(err)
	}
	v, err := b.engine.ViewLimit(ctx, l)
	if err != nil {
		return nil, ToError(err)
	}
	out := fromLimit(v)
	out.Created = created
	return &out, nil
}

// DeleteLimit implements flow.Backend.
func (b *Backend) DeleteLimit(ctx context.Context, req flow.DeleteLimitRequest) (*flow.Limit, error) {
	l, err := b.engine.DeleteLimit(ctx, limitTarget(req.LimitTarget), req.DeletedBy, req.Reason)
	if err != nil {
		return nil, ToError(err)
	}
	out := fromLimit(&engine.OperatorLimitView{OperatorLimit: *l})
	return &out, nil
}

// Limits implements flow.Backend.
func (b *Backend) Limits(ctx context.Context, f flow.LimitFilter) (*flow.LimitPage, error) {
	filter := engine.OperatorLimitFilter{Kind: task.PauseKind(f.Kind), Name: f.Handler, Namespaces: f.Namespaces,
		Limit: b.page(f.Limit, defaultPauses)}
	if err := decodeCursor(f.Cursor, &filter.After, anyTarget); err != nil {
		return nil, err
	}
	list, more, err := b.engine.OperatorLimits(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &flow.LimitPage{Limits: each(list, fromLimit)}
	if more {
		page.NextCursor, err = encodeCursor(list[len(list)-1].PauseTarget)
	}
	return page, err
}

func limitTarget(t flow.LimitTarget) task.PauseTarget {
	return task.PauseTarget{Kind: task.PauseKind(t.Kind), Namespace: cmp.Or(t.Namespace, engine.DefaultNamespace),
		Name: t.Handler, Capabilities: task.Route{Capabilities: task.Capabilities(t.Capabilities)}.CapabilityKey()}
}

func fromLimit(v *engine.OperatorLimitView) flow.Limit {
	out := flow.Limit{LimitTarget: flow.LimitTarget{Kind: flow.Kind(v.Kind), Namespace: v.Namespace, Handler: v.Name,
		Capabilities: task.SplitCapabilities(v.Capabilities)},
		Concurrency: v.Permits, NextAt: v.NextAt.Ptr(), SetAt: v.At.Time(), ChangedAt: v.ChangedAt.Time(),
		SetBy: v.Actor, Reason: v.Reason, DeletedAt: v.EndedAt.Ptr()}
	if v.Permits > 0 {
		out.Running = v.Held
	}
	if !v.Rate.Zero() {
		out.Rate = &flow.Rate{Limit: v.Rate.Count, Period: v.Rate.Per.Seconds(), Burst: v.Rate.Burst}
	}
	return out
}

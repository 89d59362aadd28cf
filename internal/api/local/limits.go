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
	out, err := b.limitNow(ctx, l)
	if err != nil {
		return nil, err
	}
	out.Created = created
	return out, nil
}

func (b *Backend) limitNow(ctx context.Context, l *task.OperatorLimit) (*flow.Limit, error) {
	v, err := b.engine.ViewLimit(ctx, l)
	if err != nil {
		return nil, ToError(err)
	}
	return fromLimit(v), nil
}

// DeleteLimit implements flow.Backend.
func (b *Backend) DeleteLimit(ctx context.Context, req flow.DeleteLimitRequest) (*flow.Limit, error) {
	l, err := b.engine.DeleteLimit(ctx, limitTarget(req.LimitTarget), req.DeletedBy, req.Reason)
	if err != nil {
		return nil, ToError(err)
	}
	return fromLimit(&engine.OperatorLimitView{OperatorLimit: *l}), nil
}

// Limits implements flow.Backend.
func (b *Backend) Limits(ctx context.Context, f flow.LimitFilter) (*flow.LimitPage, error) {
	filter := engine.OperatorLimitFilter{Kind: task.PauseKind(f.Kind), Name: f.Handler, Namespaces: f.Namespaces,
		Limit: cmp.Or(f.Limit, min(defaultPauses, b.engine.Config().Limits.PageItems))}
	if err := readTarget(f.Cursor, &filter.After); err != nil {
		return nil, err
	}
	list, more, err := b.engine.OperatorLimits(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &flow.LimitPage{Limits: make([]flow.Limit, len(list))}
	for i := range list {
		page.Limits[i] = *fromLimit(&list[i])
	}
	if more {
		page.NextCursor, err = cursorAt(list[len(list)-1].PauseTarget)
	}
	return page, err
}

func limitTarget(t flow.LimitTarget) task.PauseTarget {
	return task.PauseTarget{Kind: task.PauseKind(t.Kind), Namespace: cmp.Or(t.Namespace, engine.DefaultNamespace),
		Name: t.Handler, Capabilities: task.Route{Capabilities: task.Capabilities(t.Capabilities)}.CapabilityKey()}
}

func fromLimit(v *engine.OperatorLimitView) *flow.Limit {
	out := &flow.Limit{LimitTarget: flow.LimitTarget{Kind: flow.Kind(v.Kind), Namespace: v.Namespace, Handler: v.Name,
		Capabilities: task.SplitCapabilities(v.Capabilities)},
		Concurrency: v.Permits, NextAt: whenSet(v.NextAt), SetAt: v.At.Time(), ChangedAt: v.ChangedAt.Time(),
		SetBy: v.Actor, Reason: v.Reason, DeletedAt: whenSet(v.EndedAt)}
	if v.Permits > 0 {
		out.Running = v.Held
	}
	if !v.Rate.Zero() {
		out.Rate = &flow.Rate{Limit: v.Rate.Count, Period: v.Rate.Per.Seconds(), Burst: v.Rate.Burst}
	}
	return out
}

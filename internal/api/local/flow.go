package local

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Pause implements flow.Backend.
func (b *Backend) Pause(ctx context.Context, req flow.PauseRequest) (*flow.Pause, error) {
	target, err := toTarget(req.Target)
	if err != nil {
		return nil, err
	}
	r := engine.PauseRequest{Target: target, Actor: req.PausedBy, Reason: req.Reason}
	if req.Until != nil {
		r.Until = max(task.At(*req.Until), 1) // a time before 1970 is a fault, not none
	}
	p, created, err := b.engine.Pause(ctx, r)
	if err != nil {
		return nil, ToError(err)
	}
	out := fromPause(p)
	out.Created = created
	return out, nil
}

// ResumePaused implements flow.Backend.
func (b *Backend) ResumePaused(ctx context.Context, req flow.ResumePausedRequest) (*flow.Pause, error) {
	target, err := toTarget(req.Target)
	if err != nil {
		return nil, err
	}
	return as(fromPause)(b.engine.ResumePaused(ctx, target, req.ResumedBy, req.Reason))
}

const defaultPauses = 50

// Pauses implements flow.Backend.
func (b *Backend) Pauses(ctx context.Context, f flow.PauseFilter) (*flow.PausePage, error) {
	filter := engine.PauseFilter{Kind: task.PauseKind(f.Kind), Namespaces: f.Namespaces,
		Limit: b.page(f.Limit, defaultPauses)}
	if err := decodeCursor(f.Cursor, &filter.After, anyTarget); err != nil {
		return nil, err
	}
	list, more, err := b.engine.Pauses(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &flow.PausePage{Pauses: each(list, func(p *task.Pause) flow.Pause { return *fromPause(p) })}
	if more {
		page.NextCursor, err = encodeCursor(list[len(list)-1].PauseTarget)
	}
	return page, err
}

// anyTarget accepts every cursor: one of another list only finds nothing.
func anyTarget(*task.PauseTarget) bool { return true }

// toTarget refuses a name that does not belong to the kind: the caller means another kind.
func toTarget(t flow.Target) (task.PauseTarget, error) {
	out := task.PauseTarget{Kind: task.PauseKind(t.Kind), Namespace: cmp.Or(t.Namespace, engine.DefaultNamespace),
		Name: t.Handler}
	var faults []tasker.Detail
	stray := func(at, text string) {
		if text != "" {
			faults = append(faults, tasker.Detail{Location: at, Message: "does not belong to a " + string(t.Kind)})
		}
	}
	switch t.Kind {
	case flow.Template:
		out.Name = t.Template
		stray("/handler", t.Handler)
	case flow.Namespace:
		out.Name = ""
		stray("/handler", t.Handler)
		stray("/template", t.Template)
	default:
		stray("/template", t.Template)
	}
	if len(faults) > 0 {
		return out, &tasker.Error{Code: tasker.CodeInvalid, Message: "the target is not valid", Details: faults}
	}
	out.Capabilities = task.Route{Capabilities: task.Capabilities(t.Capabilities)}.CapabilityKey()
	return out, nil
}

func fromPause(p *task.Pause) *flow.Pause {
	out := &flow.Pause{Target: flow.Target{Kind: flow.Kind(p.Kind), Namespace: p.Namespace,
		Capabilities: task.SplitCapabilities(p.Capabilities)},
		PausedAt: p.At.Time(), PausedBy: p.Actor, Reason: p.Reason, Until: p.Until.Ptr(), EndedAt: p.EndedAt.Ptr()}
	if p.Kind == task.PauseTemplate {
		out.Template = p.Name
	} else {
		out.Handler = p.Name
	}
	return out
}

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

// Outages implements flow.Backend.
func (b *Backend) Outages(ctx context.Context, f flow.OutageFilter) (*flow.OutagePage, error) {
	filter := engine.OutageFilter{State: engine.OutageState(f.State), Namespaces: f.Namespaces,
		Limit: b.page(f.Limit, defaultPauses)}
	if filter.State != "" && filter.State != engine.OutageOpen && filter.State != engine.OutageClosed {
		return nil, badFilter(tasker.Detail{Location: "state", Message: "must be open or closed"})
	}
	if f.Cursor != "" {
		var err error
		if filter.Below, err = task.ParseID(f.Cursor); err != nil {
			return nil, noCursor("cursor")
		}
	}
	list, more, err := b.engine.Outages(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &flow.OutagePage{Outages: make([]flow.Outage, len(list))}
	for i, o := range list {
		page.Outages[i] = *b.fromOutage(o)
	}
	if more {
		page.NextCursor = list[len(list)-1].ID.String()
	}
	return page, nil
}

// Outage implements flow.Backend.
func (b *Backend) Outage(ctx context.Context, id uuid.UUID) (*flow.Outage, error) {
	return as(b.fromOutage)(b.engine.Outage(ctx, task.ID(id)))
}

// CloseOutage implements flow.Backend.
func (b *Backend) CloseOutage(ctx context.Context, id uuid.UUID, req flow.OutageCloseRequest) (*flow.Outage, error) {
	version, fault := task.MatchOne(req.IfMatch)
	if fault != "" {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: "the outage was not closed",
			Details: []tasker.Detail{{Location: "/if_match", Message: fault}}}
	}
	return as(b.fromOutage)(b.engine.CloseOutage(ctx, task.ID(id), req.ClosedBy, req.Reason, version))
}

func (b *Backend) fromOutage(o *task.Outage) *flow.Outage {
	out := &flow.Outage{OutageUUID: uuid.UUID(o.ID), State: flow.OutageOpen, Namespace: o.Namespace, Handler: o.Handler,
		Capabilities: task.SplitCapabilities(o.Capabilities), GroupID: deadletter.GroupID(o.Group).String(), Title: o.Title,
		Failures: o.Failures, Since: o.Since.Time(), OpenedAt: o.OpenedAt.Time(), Spared: o.Spared, Probes: o.Probes,
		LastProbe: string(o.LastProbe), LastProbeAt: o.LastProbeAt.Ptr(), ClosedAt: o.ClosedAt.Ptr(), ClosedBy: o.ClosedBy,
		CloseReason: o.CloseReason, ETag: strconv.FormatInt(o.Version, 10)}
	switch {
	case !o.Open():
		out.State = flow.OutageClosed
	case !o.ProbeStep.IsZero():
		out.Probe = &flow.Probe{TaskUUID: toUUID(o.ProbeTask), StepUUID: toUUID(o.ProbeStep), Since: o.ProbeAt.Time()}
	default:
		out.NextProbeAt = b.engine.ProbeDue(o).Ptr()
	}
	return out
}

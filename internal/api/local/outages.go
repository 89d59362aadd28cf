package local

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
		Capabilities: task.SplitCapabilities(o.Capabilities), GroupID: deadletter.GroupID(o.Group).String(),
		Title: o.Title, Failures: o.Failures, Since: o.Since.Time(), OpenedAt: o.OpenedAt.Time(), Spared: o.Spared,
		Probes: o.Probes, LastProbe: string(o.LastProbe), LastProbeAt: o.LastProbeAt.Ptr(),
		ClosedAt: o.ClosedAt.Ptr(), ClosedBy: o.ClosedBy, CloseReason: o.CloseReason,
		ETag: strconv.FormatInt(o.Version, 10)}
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

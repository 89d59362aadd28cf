package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/flow"
)

func (f *fake) Pause(_ context.Context, req flow.PauseRequest) (*flow.Pause, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &flow.Pause{Target: req.Target, PausedAt: noon, PausedBy: req.PausedBy, Reason: req.Reason, Until: req.Until,
		Created: req.Reason != "again"}, nil
}

func (f *fake) ResumePaused(_ context.Context, req flow.ResumePausedRequest) (*flow.Pause, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &flow.Pause{Target: req.Target, PausedAt: noon, PausedBy: "ann", EndedAt: &noon}, nil
}

func (f *fake) Pauses(_ context.Context, filter flow.PauseFilter) (*flow.PausePage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &flow.PausePage{}, err
	}
	return &flow.PausePage{NextCursor: "end", Pauses: []flow.Pause{{PausedAt: noon, PausedBy: "ann", Reason: "broken",
		Until: &noon, Target: flow.Target{Kind: flow.Route, Namespace: "default", Handler: "charge",
			Capabilities: []string{"gpu"}}}}}, nil
}

func (f *fake) SetLimit(_ context.Context, req flow.LimitRequest) (*flow.Limit, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &flow.Limit{LimitTarget: req.LimitTarget, Concurrency: req.Concurrency, Rate: req.Rate, SetAt: noon,
		ChangedAt: noon, SetBy: req.SetBy, Reason: req.Reason, Created: req.Reason != "again"}, nil
}

func (f *fake) DeleteLimit(_ context.Context, req flow.DeleteLimitRequest) (*flow.Limit, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &flow.Limit{LimitTarget: req.LimitTarget, SetAt: noon, SetBy: "ann", DeletedAt: &noon}, nil
}

func (f *fake) Limits(_ context.Context, filter flow.LimitFilter) (*flow.LimitPage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &flow.LimitPage{}, err
	}
	return &flow.LimitPage{NextCursor: "end", Limits: []flow.Limit{{SetAt: noon, ChangedAt: noon, SetBy: "ann",
		Concurrency: 5, Running: 3, Rate: &flow.Rate{Limit: 10, Period: 1, Burst: 20}, NextAt: &noon,
		LimitTarget: flow.LimitTarget{Kind: flow.Route, Namespace: "default", Handler: "charge",
			Capabilities: []string{"gpu"}}}}}, nil
}

func fakeOutage(id uuid.UUID) *flow.Outage {
	return &flow.Outage{OutageUUID: id, State: flow.OutageOpen, Namespace: "default", Handler: "charge",
		Capabilities: []string{"gpu"}, GroupID: "g-1", Title: "BankDown", Failures: 20, Since: noon, OpenedAt: noon,
		Spared: 3, Probes: 2, Probe: &flow.Probe{TaskUUID: id, StepUUID: id, Since: noon}, NextProbeAt: &noon,
		LastProbe:   "failed",
		LastProbeAt: &noon, ClosedAt: &noon, ClosedBy: "ann", CloseReason: "fixed", ETag: "7"}
}

func (f *fake) Outages(_ context.Context, filter flow.OutageFilter) (*flow.OutagePage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &flow.OutagePage{}, err
	}
	return &flow.OutagePage{NextCursor: "end", Outages: []flow.Outage{*fakeOutage(taskID)}}, nil
}

func (f *fake) Outage(_ context.Context, id uuid.UUID) (*flow.Outage, error) {
	if err := f.note(id); err != nil {
		return nil, err
	}
	return fakeOutage(id), nil
}

func (f *fake) CloseOutage(_ context.Context, id uuid.UUID, req flow.OutageCloseRequest) (*flow.Outage, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return fakeOutage(id), nil
}

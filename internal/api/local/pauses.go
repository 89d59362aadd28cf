package local

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/engine"
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

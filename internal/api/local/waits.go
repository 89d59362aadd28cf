package local

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/waits"
)

// SendSignal implements waits.Backend.
func (b *Backend) SendSignal(ctx context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	s, created, err := b.engine.SendSignal(ctx, engine.SignalRequest{
		SignalName: task.SignalName{Namespace: req.Namespace, ID: req.SignalID}, Name: req.Name, Key: req.Key,
		Payload: req.Payload})
	if err != nil {
		return nil, ToError(err)
	}
	out := fromSignal(s)
	out.Created = created
	return &out, nil
}

func fromSignal(s *task.Signal) waits.Signal {
	return waits.Signal{SignalID: s.ID, Namespace: s.Namespace, Name: s.Name, Key: s.Key,
		ReceivedAt: s.ReceivedAt.Time(), KeptUntil: s.ExpiresAt.Time(), Taken: s.Taken}
}

const defaultSignals = 50

// Signals implements waits.Backend.
func (b *Backend) Signals(ctx context.Context, f waits.SignalFilter) (*waits.SignalPage, error) {
	var faults filterFaults
	faults.names("query.name", f.Name, "query.key", f.Key)
	faults.all("query.namespace", f.Namespaces)
	if err := faults.err(); err != nil {
		return nil, err
	}
	filter := engine.SignalFilter{Namespaces: f.Namespaces, Name: f.Name, Key: f.Key, Since: task.FromFilter(f.After),
		Until: task.FromFilter(f.Before), Untaken: !f.IncludeTaken, Limit: b.page(f.Limit, defaultSignals)}
	var after signalPlace
	if err := decodeCursor(f.Cursor, &after, (*signalPlace).valid); err != nil {
		return nil, err
	}
	filter.After = engine.SignalPosition{ExpiresAt: task.Instant(after.At),
		SignalName: task.SignalName{Namespace: after.Namespace, ID: after.ID}}
	list, more, err := b.engine.Signals(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &waits.SignalPage{Signals: each(list, fromSignal)}
	if more {
		last := &list[len(list)-1]
		page.NextCursor, err = encodeCursor(signalPlace{int64(last.ExpiresAt), last.Namespace, last.ID})
	}
	return page, err
}

type signalPlace struct {
	At        int64  `json:"at"`
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

func (p *signalPlace) valid() bool {
	return p.At > 0 && task.TextFault(p.Namespace, task.MaxName) == "" && task.TextFault(p.ID, task.MaxName) == ""
}

const defaultApprovals = 50

// Approvals implements waits.Backend.
func (b *Backend) Approvals(ctx context.Context, f waits.ApprovalFilter) (*waits.ApprovalPage, error) {
	var faults filterFaults
	faults.names("query.template", f.Template, "query.step", f.Step)
	faults.all("query.namespace", f.Namespaces)
	if err := faults.err(); err != nil {
		return nil, err
	}
	filter := engine.WaitFilter{Namespaces: f.Namespaces, Template: f.Template, StepName: f.Step, Task: toID(f.TaskUUID),
		Since: task.FromFilter(f.After), Until: task.FromFilter(f.Before), Limit: b.page(f.Limit, defaultApprovals)}
	var after place
	if err := decodeCursor(f.Cursor, &after, func(p *place) bool { return p.At > 0 }); err != nil {
		return nil, err
	}
	filter.After = engine.WaitPosition{At: task.Instant(after.At), Step: toID(after.Step)}
	list, more, err := b.engine.Approvals(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &waits.ApprovalPage{Approvals: make([]waits.Approval, len(list))}
	for i, a := range list {
		page.Approvals[i] = waits.Approval{TaskUUID: toUUID(a.Task), StepUUID: toUUID(a.Step), Namespace: a.Namespace,
			Template: a.Template, Step: a.StepName, Approval: a.Text, Since: a.At.Time(), Until: a.Until.Ptr()}
	}
	if more {
		last := list[len(list)-1]
		page.NextCursor, err = encodeCursor(place{int64(last.At), toUUID(last.Step)})
	}
	return page, err
}

type place struct {
	At   int64     `json:"at"`
	Step uuid.UUID `json:"step"`
}

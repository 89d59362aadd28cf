package local

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/waits"
)

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
		Since: task.FromFilter(f.After), Until: task.FromFilter(f.Before),
		Limit: b.page(f.Limit, defaultApprovals)}
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

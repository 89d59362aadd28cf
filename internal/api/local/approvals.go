package local

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/waits"
)

const defaultApprovals = 50

// Approvals implements waits.Backend.
func (b *Backend) Approvals(ctx context.Context, f waits.ApprovalFilter) (*waits.ApprovalPage, error) {
	var faults []tasker.Detail
	for at, text := range map[string]string{"template": f.Template, "step": f.Step} {
		if fault := task.TextFault(text, task.MaxName); fault != "" {
			faults = append(faults, tasker.Detail{Location: "query." + at, Message: fault})
		}
	}
	for _, n := range f.Namespaces {
		if fault := task.TextFault(n, task.MaxName); fault != "" {
			faults = append(faults, tasker.Detail{Location: "query.namespace", Message: fault})
		}
	}
	if len(faults) > 0 {
		return nil, badFilter(faults...)
	}
	filter := engine.WaitFilter{Namespaces: f.Namespaces, Template: f.Template, StepName: f.Step, Task: toID(f.TaskUUID),
		Since: task.FromFilter(f.After), Until: task.FromFilter(f.Before),
		Limit: cmp.Or(f.Limit, min(defaultApprovals, b.engine.Config().Limits.PageItems))}
	if err := readPosition(f.Cursor, &filter.After); err != nil {
		return nil, err
	}
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
		page.NextCursor, err = positionCursor(engine.WaitPosition{At: last.At, Step: last.Step})
	}
	return page, err
}

type place struct {
	At   int64     `json:"at"`
	Step uuid.UUID `json:"step"`
}

func readPosition(cursor string, after *engine.WaitPosition) error {
	if cursor == "" {
		return nil
	}
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.At <= 0 {
		return badFilter(tasker.Detail{Location: "cursor", Message: "is not a cursor of this list"})
	}
	*after = engine.WaitPosition{At: task.Instant(p.At), Step: toID(p.Step)}
	return nil
}

func positionCursor(p engine.WaitPosition) (string, error) {
	raw, err := json.Marshal(place{int64(p.At), toUUID(p.Step)})
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

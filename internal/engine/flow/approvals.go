package flow

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Approval is a step that waits for an approval.
type Approval struct {
	task.StepWait
	Text string // the decision to make; "" if the template cannot be read
}

// Approvals returns a page of waiting approvals, the earliest first, and whether there are more. The caller restricts
// the namespaces. Invalid: a limit outside of 1 to Limits.PageItems.
func (e *Room) Approvals(ctx context.Context, f kernel.WaitFilter) (list []Approval, more bool, err error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, false, err
	}
	limit := f.Limit
	f.Kind, f.Limit = task.WaitApproval, limit+1
	waits, err := e.WaitReads.ListWaits(ctx, f)
	if err != nil {
		return nil, false, fmt.Errorf("list approvals: %w", err)
	}
	if more = len(waits) > limit; more {
		waits = waits[:limit]
	}
	ids := make([]task.ID, len(waits))
	for i, w := range waits {
		ids[i] = w.Task
	}
	tasks, err := e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, false, fmt.Errorf("read the tasks of approvals: %w", err)
	}
	defs := make(map[task.ID]int64, len(tasks))
	for _, t := range tasks {
		defs[t.ID] = t.DefID
	}
	for _, w := range waits {
		def, err := e.TemplateOf(ctx, defs[w.Task])
		if err != nil {
			return nil, false, err
		}
		list = append(list, Approval{w, approvalText(def, w.StepName)})
	}
	return list, more, nil
}

func approvalText(t *task.Template, step string) string {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Name == step && s.Wait != nil {
			return s.Wait.Approval
		}
	}
	return ""
}

package scenario_test

import (
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// bulkOf reads the selection of a bulk verb. A cursor is the name of a task.
func (in *interpreter) bulkOf(a *args) (engine.Bulk, error) {
	b := engine.Bulk{DryRun: a.flag("dry"), Filter: engine.CaseFilter{Status: task.CasePending, TaskName: a.text("name"),
		Limit: 100}}
	if s := a.text("status_was"); s != "" {
		b.Filter.Status = task.Resolution(s)
	}
	for _, name := range a.places {
		b.Filter.Status = ""
		id, err := in.taskID(name)
		if err != nil {
			return b, err
		}
		c, err := in.engine.CaseOfTask(in.ctx, id)
		if err != nil {
			return b, err
		}
		b.Filter.IDs = append(b.Filter.IDs, c.ID)
	}
	if name := a.text("below"); name != "" {
		id, err := in.taskID(name)
		if err != nil {
			return b, err
		}
		c, err := in.engine.CaseOfTask(in.ctx, id)
		if err != nil {
			return b, err
		}
		b.Filter.Below = c.ID
	}
	return b, a.number("limit", &b.Filter.Limit)
}

func (in *interpreter) updateCases(a *args) ([]string, error) {
	ch := task.CaseChange{Status: task.Resolution(a.text("status")), Actor: a.text("by"), Reopen: a.flag("reopen")}
	b, err := in.bulkOf(a)
	if err != nil {
		return nil, err
	}
	if v, ok := a.get("notes"); ok {
		ch.Notes = &v
	}
	r, err := in.engine.UpdateCases(in.ctx, b, ch)
	return in.bulkResult(r, err)
}

func (in *interpreter) actOnCases(a *args) ([]string, error) {
	b, err := in.bulkOf(a)
	if err != nil {
		return nil, err
	}
	act := engine.StepAct{Kind: engine.ActKind(a.text("act")), Actor: a.text("by"), Reason: a.text("reason")}
	if v, ok := a.get("result"); ok {
		act.Result = []byte(v)
	}
	r, err := in.engine.OperateOnCases(in.ctx, b, a.text("step"), act)
	return in.bulkResult(r, err)
}

func (in *interpreter) bulkResult(r *engine.BulkResult, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range r.Items {
		line := in.nameOf(item.Task)
		if item.StepName != "" {
			line += "." + item.StepName
		}
		if item.Err != nil {
			out = append(out, line+" "+describe(item.Err))
			continue
		}
		out = append(out, fmt.Sprintf("%s %s -> %s", line, item.From, item.To))
	}
	return append(out, "more "+strconv.FormatBool(!r.Next.IsZero())), nil
}

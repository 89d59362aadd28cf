package local

import (
	"context"
	"reflect"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// defaultBulk is the default number of cases in a bulk request; the cursor continues.
const defaultBulk = 100

// UpdateCases implements operate.CaseBackend. Problems of the update are below /update, those of the selection below
// /filter. A refused case has its Error in its item and does not affect the others; after a returned error nothing has
// changed. With DryRun nothing is stored.
func (b *Backend) UpdateCases(ctx context.Context, req operate.BulkCaseUpdate) (*operate.BulkResult, error) {
	bulk, err := b.toBulk(req.Filter, req.BulkPage, req.Update.Reopen)
	if err != nil {
		return nil, err
	}
	change, err := toCaseChange(req.Update)
	if err == nil {
		// An ETag identifies one version of one case, so it never matches a selection.
		err = ofOne(change.Expect)
	}
	if err != nil {
		return nil, refusal.Moved(err, "", "/update")
	}
	out, err := b.engine.UpdateCases(ctx, bulk, change)
	if err != nil {
		return nil, refusal.Moved(ToError(err), "", "/update")
	}
	return fromBulk(out, req.DryRun), nil
}

// ActOnCases implements operate.CaseBackend. Problems of the act are below /action. It answers per case, like
// UpdateCases. The act is on the failed steps of each task, or on the step named by req.Step.
func (b *Backend) ActOnCases(ctx context.Context, req operate.BulkStepAction) (*operate.BulkResult, error) {
	bulk, err := b.toBulk(req.Filter, req.BulkPage, false)
	if err != nil {
		return nil, err
	}
	act, field, err := toStepAct(req.Action)
	if err == nil {
		err = ofOne(act.Expect)
	}
	if err != nil {
		return nil, refusal.Moved(err, "", "/action")
	}
	out, err := b.engine.OperateOnCases(ctx, bulk, req.Step, act)
	if err != nil {
		return nil, refusal.Moved(refusal.Moved(ToError(err), "/actor", field), "", "/action")
	}
	return fromBulk(out, req.DryRun), nil
}

// toBulk refuses a request that selects no cases, and one that re-opens cases without naming the cases or their
// resolution. An empty resolution status means pending unless cases are named: resolved cases need no act.
func (b *Backend) toBulk(f operate.CaseFilter, page operate.BulkPage, reopen bool) (engine.Bulk, error) {
	switch {
	case reflect.ValueOf(f).IsZero():
		return engine.Bulk{}, badFilter(tasker.Detail{Location: "/filter",
			Message: "say which cases are meant; resolution_status pending means all that are pending"})
	case len(f.CaseUUIDs) > 0 && page.Cursor != "":
		return engine.Bulk{}, badFilter(tasker.Detail{Location: "/cursor", Message: "does not go with dlq_entry_uuids"})
	case f.ResolutionStatus == "" && reopen && len(f.CaseUUIDs) == 0:
		return engine.Bulk{}, badFilter(tasker.Detail{Location: "/filter/resolution_status",
			Message: "say which cases to open again"})
	case f.ResolutionStatus == "" && len(f.CaseUUIDs) == 0:
		f.ResolutionStatus = tasker.CasePending
	}
	// Bulk requests page by cursor only: the act removes cases from the selection, so an offset would skip some.
	f.Limit, f.Offset = page.Limit, 0
	filter, err := b.toCaseFilter(f, defaultBulk)
	if err != nil {
		return engine.Bulk{}, refusal.Moved(err, "", "/filter/")
	}
	if page.Cursor != "" {
		if filter.Below, err = task.ParseID(page.Cursor); err != nil {
			return engine.Bulk{}, badFilter(tasker.Detail{Location: "/cursor", Message: "is not a cursor of this request"})
		}
	}
	return engine.Bulk{Filter: filter, DryRun: page.DryRun}, nil
}

func fromBulk(r *engine.BulkResult, dry bool) *operate.BulkResult {
	out := &operate.BulkResult{DryRun: dry, Results: make([]operate.BulkItem, len(r.Items)), Error: itemError(r.Err)}
	for i, item := range r.Items {
		out.Results[i] = operate.BulkItem{CaseUUID: toUUID(item.Case), TaskUUID: optionalUUID(item.Task),
			StepUUID: optionalUUID(item.Step), StepName: item.StepName, Before: item.From, After: item.To,
			Error: itemError(item.Err)}
		if item.Err != nil {
			out.Failed++
		} else {
			out.Succeeded++
		}
	}
	if !r.Next.IsZero() {
		out.NextCursor = r.Next.String()
	}
	return out
}

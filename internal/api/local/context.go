package local

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// EditContext implements tasker.TaskBackend. CodeWrongState: the task is not in error. CodeConflict: ExpectedVersion is
// not the present version. CodeInvalid: the new context does not match the template's input schema. The failed steps
// run again unless NoRetry is set.
func (b *Backend) EditContext(ctx context.Context, id uuid.UUID, req tasker.EditContextRequest,
) (*tasker.EditedContext, error) {
	out, err := b.engine.EditContext(ctx, toID(id), engine.ContextEdit{Context: req.Context, Merge: req.Merge,
		Actor: req.EditedBy, Reason: req.Reason, Version: req.ExpectedVersion,
		Replay: !req.NoRetry, ResetAttempts: req.ResetRetryCount})
	if err != nil {
		return nil, ToError(err)
	}
	edited := &tasker.EditedContext{TaskUUID: id, State: tasker.TaskState(out.Task.State),
		ContextVersion: out.Task.Meta.ContextEdits, Changed: out.Changed,
		Context: out.Task.Context, OldContext: out.Old, EndedSteps: out.Ended}
	if out.Replayed != nil {
		edited.ReplayedSteps = out.Replayed.Steps
	}
	return edited, nil
}

// maxOldContexts bounds the old contexts in a history, in bytes: four edits of the largest context, 256 KiB, would fill
// an answer.
const maxOldContexts = 1 << 20

// contextEdits returns the edits among acts, oldest first. Beyond maxOldContexts it omits the oldest contexts. The
// history has no second copy of the acts, so none can differ.
func contextEdits(acts []task.Act) ([]tasker.ContextEdit, error) {
	var edits []tasker.ContextEdit
	for i := range acts {
		a := &acts[i]
		if a.Kind != task.ActEditContext {
			continue
		}
		var note engine.ContextNote
		if err := json.Unmarshal(a.Data, &note); err != nil {
			return nil, tasker.Errorf(tasker.CodeInternal, "the act %d cannot be read: %v", a.No, err)
		}
		edits = append(edits, tasker.ContextEdit{No: a.No, At: a.At.Time(), Actor: a.Actor, Reason: a.Reason,
			ContextVersion: note.Version, OldContext: note.Old, Merge: note.Merge,
			EndedSteps: note.Ended, Replayed: note.Replayed})
	}
	// The newest edits keep their contexts: they explain the present state.
	room := maxOldContexts
	for i := len(edits) - 1; i >= 0; i-- {
		e := &edits[i]
		if room -= len(e.OldContext) + len(e.Merge); room < 0 {
			e.OldContext, e.Merge, e.OldOmitted = nil, nil, true
		}
	}
	return edits, nil
}

package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ContextEdit changes the context of a task in error. Exactly one of Context and Merge, Actor and Reason are
// required.
type ContextEdit struct {
	Context []byte // JSON: the whole context
	Merge   []byte // JSON merge patch
	Actor   string
	Reason  string
	// Version is the one that the caller has read; nil: any.
	Version *int
	// Replay runs the failed steps again; ResetAttempts is as in Replay.
	Replay        bool
	ResetAttempts bool
}

// EditedContext is the effect of an edit.
type EditedContext struct {
	Task *task.Task // with its new context
	Old  []byte     // nil: there was none
	// Changed is false if the task had that context: nothing was stored, except for a requested replay.
	Changed bool
	// Ended names steps that had ended, and do not run again with the new context.
	Ended    []string
	Replayed *Replayed // nil: not requested
}

// ContextNote is the data of an act of kind ActEditContext.
type ContextNote struct {
	Version  int             `json:"version"` // of the new context
	Old      json.RawMessage `json:"old_context"`
	Merge    json.RawMessage `json:"merge,omitempty"`
	Ended    []string        `json:"ended_steps,omitempty"`
	Replayed bool            `json:"replayed"`
}

const (
	// editRuns is how often an edit is tried when others come first.
	editRuns = 5
	// maxEdits bounds the edits of one task.
	maxEdits = 100
)

var errEdited = errors.New("the context has been edited meanwhile")

// EditContext changes the context of a task in error and, on request, runs its failed steps again, in one
// transaction. The new context must match the template's input schema; the act stores the old one. WrongState: the
// task is not in error. Conflict: another version, or another task guards the new unique key. NotFound: no such task.
//
// The schema is checked before the transaction, because that may take long.
func (e *Room) EditContext(ctx context.Context, id task.ID, edit ContextEdit) (*EditedContext, error) {
	return e.editTask(ctx, id, &edit, func(fn func(*kernel.Unit) error) error { return e.Write(ctx, "edit_context", fn) })
}

// EditContextWithin is EditContext in a transaction: write begins one, calls its argument there, and returns the
// result; again if another edit came first.
func (e *Room) EditContextWithin(ctx context.Context, id task.ID, edit ContextEdit,
	write func(edit func(context.Context, kernel.Tx) error) error,
) (*EditedContext, error) {
	return e.editTask(ctx, id, &edit, func(fn func(*kernel.Unit) error) error {
		return write(func(ctx context.Context, tx kernel.Tx) error { return e.In(tx)(ctx, "edit_context", fn) })
	})
}

func (e *Room) editTask(ctx context.Context, id task.ID, edit *ContextEdit,
	run func(func(*kernel.Unit) error) error,
) (*EditedContext, error) {
	if problems := e.checkEdit(edit); len(problems) > 0 {
		return nil, check.Refusal("the context was not edited", problems)
	}
	for range editRuns {
		seen, err := e.FindTask(ctx, id)
		if err != nil {
			return nil, err
		}
		next, err := e.NewContext(ctx, seen, edit)
		if err != nil {
			return nil, err
		}
		var out *EditedContext
		err = run(func(u *kernel.Unit) error {
			var err error
			out, err = EditContext(u, seen, next, edit)
			return err
		})
		if err == nil || !errors.Is(err, errEdited) {
			return out, err
		}
	}
	return nil, task.Errorf(task.Conflict, "the context of the task %s is edited by others all the time", id)
}

func (e *Room) checkEdit(edit *ContextEdit) []task.Problem {
	problems := check.Renamed(kernel.CheckActor(edit.Actor, edit.Reason), "/actor", "/edited_by")
	bad := func(at, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	if edit.Actor == "" {
		bad("/edited_by", "say who does it; the name is kept with the task")
	}
	if edit.Reason == "" {
		bad("/reason", "say why; the reason is kept with the task")
	}
	switch {
	case edit.Context == nil && edit.Merge == nil:
		bad("/context", "give the whole context (context), or what to change of it (merge)")
	case edit.Context != nil && edit.Merge != nil:
		bad("/merge", "give context or merge, not both")
	}
	if edit.ResetAttempts && !edit.Replay {
		bad("/reset_retry_count", "goes with a retry only")
	}
	bad("/context", check.Payload(edit.Context, e.Cfg.Limits.PayloadBytes))
	bad("/merge", check.Payload(edit.Merge, e.Cfg.Limits.PayloadBytes))
	return problems
}

func (e *Room) NewContext(ctx context.Context, t *task.Task, edit *ContextEdit) ([]byte, error) {
	if err := editable(t, edit); err != nil {
		return nil, err
	}
	next, at := edit.Context, ""
	if reason, _, is := task.WhyUnopened(t.Context); is && edit.Merge != nil {
		return nil, &task.Error{Code: task.Conflict, Message: "the context of the task cannot be decrypted here: " + reason,
			Hint: "add the key to this node, or give the whole context"}
	}
	if edit.Merge != nil {
		var err error
		if next, err = task.MergePatch(t.Context, edit.Merge); err != nil {
			return nil, err
		}
		at = "/merge"
		if fault := check.Payload(next, e.Cfg.Limits.PayloadBytes); fault != "" {
			merged := task.Problem{Location: at, Message: "what it makes of the context " + fault}
			return nil, check.Refusal("the context was not edited", []task.Problem{merged})
		}
	}
	if where, broken := envelope.Damaged(next); broken && envelope.Within(t.Context) {
		return nil, check.Refusal("the context was not edited", []task.Problem{{Location: at + "/context" + where,
			Message: "is only a part of a value that is encoded by the client: give the whole value, encoded"}})
	}
	def, err := e.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, err
	}
	problems, err := submit.Of(e.Kernel).CheckContext(def, next, at)
	if err == nil && len(problems) > 0 {
		err = check.Refusal("the context was not edited", problems)
	}
	return next, err
}

func editable(t *task.Task, edit *ContextEdit) error {
	switch edits := t.Meta.ContextEdits; {
	case t.State != task.Errored:
		return &task.Error{Code: task.WrongState,
			Message: fmt.Sprintf("the task %s is %s; only the context of one in error can be edited", t.ID, t.State),
			Hint:    "steps that run have the context already; a task that is over can be submitted again"}
	case edit.Version != nil && *edit.Version != edits:
		return &task.Error{Code: task.Conflict,
			Message: fmt.Sprintf("the context of the task %s has version %d, not %d", t.ID, edits, *edit.Version),
			Hint:    "another edit came first: read the context again"}
	case edits >= maxEdits:
		return &task.Error{Code: task.Conflict,
			Message: fmt.Sprintf("the context of the task %s was edited %d times, which is the limit", t.ID, edits),
			Hint:    "every old context is kept; submit a new task"}
	}
	return nil
}

func EditContext(u *kernel.Unit, seen *task.Task, next []byte, edit *ContextEdit) (*EditedContext, error) {
	unique, err := submit.EditedUnique(u, seen, next)
	if err != nil {
		return nil, err
	}
	t, err := u.ReachedTask(seen.ID)
	switch {
	case err != nil:
		return nil, err
	case t.Meta.ContextEdits != seen.Meta.ContextEdits && edit.Version == nil:
		return nil, errEdited
	}
	if err := editable(t, edit); err != nil {
		return nil, err
	}
	out := &EditedContext{Task: t, Old: task.Readable(seen.Context), Changed: !submit.SameJSON(seen.Context, next)}
	if out.Ended, err = endedSteps(u, t); err != nil {
		return nil, err
	}
	if out.Changed {
		if err := actOfEdit(u, t, out, edit); err != nil {
			return nil, err
		}
		t.Context = next
		t.Meta.ContextEdits++
		if unique != nil {
			t.Meta.Unique = unique
		}
		t.Meta.EditedAt, t.Meta.EditedBy, t.Meta.EditedKey = u.Now, edit.Actor, u.Key
		u.Rows.ChangedTask(t)
		u.Records.Contexts = append(u.Records.Contexts, t)
		if err := kernel.DropCheckpoints(u, t); err != nil {
			return nil, err
		}
	}
	if edit.Replay {
		out.Replayed, err = ReplayTask(u, t, 0,
			Replay{Actor: edit.Actor, Reason: edit.Reason, ResetAttempts: edit.ResetAttempts})
	}
	t.Context = next // a row read in a transaction may lack it
	return out, err
}

func endedSteps(u *kernel.Unit, t *task.Task) ([]string, error) {
	steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
	if err != nil {
		return nil, err
	}
	def, err := u.Rows.Template(t.DefID)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range steps {
		if s.State.Satisfies() {
			names = append(names, def.Spec(s).Name)
		}
	}
	return names, nil
}

// actOfEdit stores the old context, so that another edit can restore it.
func actOfEdit(u *kernel.Unit, t *task.Task, out *EditedContext, edit *ContextEdit) error {
	about, err := cases.PendingCase(u, t)
	if err != nil {
		return err
	}
	note := ContextNote{Version: t.Meta.ContextEdits + 1, Old: out.Old, Merge: edit.Merge, Ended: out.Ended,
		Replayed: edit.Replay}
	data, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: t.ID, CaseID: about, Kind: task.ActEditContext,
		Actor:  edit.Actor,
		Reason: edit.Reason, From: string(t.State), To: string(t.State), Data: data})
	return nil
}

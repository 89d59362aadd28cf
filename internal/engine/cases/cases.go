package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// CaseRequest opens a case by hand.
type CaseRequest struct {
	Actor    string
	Reason   string
	Metadata []byte // JSON object or nil
}

// OpenCase opens a case of a task, which is unchanged. Conflict when it has a pending one.
func (e *Room) OpenCase(ctx context.Context, id task.ID, req CaseRequest) (*task.Case, error) {
	if problems := e.checkOpening(&req); len(problems) > 0 {
		return nil, check.Refusal("the case was not opened", problems)
	}
	var opened *task.Case
	err := e.Write(ctx, "open_case", func(u *kernel.Unit) error {
		t, err := u.ReachedTask(id)
		switch {
		case err != nil:
			return err
		case t.Meta.Case == task.HasPending:
			return &task.Error{Code: task.Conflict, Message: fmt.Sprintf("the task %s has a case that is pending", id),
				Hint: "add to that one, or resolve it first"}
		}
		metadata, err := openedBy(req, u.Key)
		if err != nil {
			return err
		}
		o := Opening{Task: t, State: t.State, Since: t.StateAt, Reason: task.ReasonManual, Cause: task.CauseManual,
			Detail: req.Reason, metadata: metadata}
		if err := CaseSlot.Of(u).Open([]*Opening{&o}); err != nil {
			return err
		}
		opened = o.opened
		u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: id, CaseID: opened.ID, Kind: task.ActOpenCase,
			Actor: req.Actor, Reason: req.Reason,
			To: string(opened.Status), Data: req.Metadata})
		return nil
	})
	return opened, err
}

func (e *Room) checkOpening(r *CaseRequest) []task.Problem {
	problems := kernel.CheckActor(r.Actor, r.Reason)
	problems = check.Renamed(problems, "/actor", "/opened_by")
	if r.Actor == "" {
		problems = append(problems, task.Problem{Location: "/opened_by",
			Message: "say who does it; the name is kept with the case"})
	}
	if r.Reason == "" {
		problems = append(problems, task.Problem{Location: "/reason", Message: "say why; the reason is kept with the case"})
	}
	return append(problems, e.checkMetadata(r.Metadata)...)
}

func (e *Room) checkMetadata(m []byte) []task.Problem {
	fault := check.Payload(m, e.Cfg.Limits.PayloadBytes)
	var object map[string]json.RawMessage
	if fault == "" && m != nil && (json.Unmarshal(m, &object) != nil || object == nil) {
		fault = "must be a JSON object"
	}
	if fault == "" {
		return nil
	}
	return []task.Problem{{Location: "/metadata", Message: fault}}
}

// openedBy lets the caller's metadata take precedence.
func openedBy(r CaseRequest, key string) ([]byte, error) {
	words := map[string]string{"opened_by": r.Actor, "opened_because": r.Reason}
	if key != "" {
		words["opened_by_key"] = key
	}
	own, err := json.Marshal(words)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return task.MergeObject(own, r.Metadata)
}

// UpdateCase stores the findings of an investigation. WrongState: the case is resolved and the change does not reopen
// it. Conflict: the case is not as expected.
func (e *Room) UpdateCase(ctx context.Context, id task.ID, ch task.CaseChange) (*task.Case, error) {
	return e.updateCase(ctx, e.Write, id, ch)
}

// UpdateCaseIn is UpdateCase in a transaction that the caller has begun.
func (e *Room) UpdateCaseIn(ctx context.Context, tx kernel.Tx, id task.ID, ch task.CaseChange) (*task.Case, error) {
	return e.updateCase(ctx, e.In(tx), id, ch)
}

func (e *Room) updateCase(ctx context.Context, run kernel.Transaction, id task.ID,
	ch task.CaseChange,
) (*task.Case, error) {
	if err := e.AdmitChange(ctx, &ch); err != nil {
		return nil, err
	}
	var after *task.Case
	err := run(ctx, "update_case", func(u *kernel.Unit) error {
		t, c, err := reachedCase(u, id)
		if err != nil {
			return err
		}
		after = c
		return CaseSlot.Of(u).Update(t, c, ch)
	})
	return after, err
}

func (e *Room) AdmitChange(ctx context.Context, ch *task.CaseChange) error {
	ch.Key = kernel.KeyOf(ctx)
	ch.Actor = cmp.Or(ch.Actor, ch.Key)
	if problems := e.checkChange(ch); len(problems) > 0 {
		return check.Refusal("the case was not changed", problems)
	}
	ch.Actor = cmp.Or(ch.Actor, kernel.Anonymous) // of a note; a decision without actor was refused
	return nil
}

// maxNotes bounds one note, in bytes.
const maxNotes = 16 << 10

func (e *Room) checkChange(ch *task.CaseChange) []task.Problem {
	var problems []task.Problem
	bad := func(at, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	bad("/resolved_by", kernel.ActorFault(ch.Actor))
	if ch.Notes != nil {
		bad("/resolution_notes", kernel.ReasonFault(*ch.Notes, maxNotes))
	}
	switch {
	case ch.Status != "" && !slices.Contains(task.Resolutions, ch.Status):
		bad("/resolution_status", "must be pending, manually_resolved, permanently_failed or cancelled")
	case ch.Reopen && ch.Status != "" && ch.Status != task.CasePending:
		bad("/resolution_status", "a case that is opened again is pending")
	}
	decides := ch.Reopen || ch.Status != "" && ch.Status != task.CasePending
	if decides && ch.Actor == "" {
		bad("/resolved_by", "say who does it; the name is kept with the case")
	}
	if ch.Reopen && (ch.Notes == nil || *ch.Notes == "") {
		bad("/resolution_notes", "say why the case is opened again")
	}
	if ch.Status == "" && ch.Notes == nil && ch.Metadata == nil && !ch.Reopen {
		bad("", "there is nothing to change: give resolution_status, resolution_notes, metadata or reopen")
	}
	problems = append(problems, kernel.ExpectFault(ch.Expect, task.Resolutions)...)
	return append(problems, e.checkMetadata(ch.Metadata)...)
}

// NoCase is the same for a case out of the key's reach.
func NoCase(id task.ID) error { return task.Errorf(task.NotFound, "there is no case %s", id) }

// Case returns a case with its snapshot, or NotFound.
func (e *Room) Case(ctx context.Context, id task.ID) (*task.Case, error) {
	c, err := e.CaseReader.FindCase(ctx, id)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, NoCase(id)
	}
	switch reached, err := e.Reaches(ctx, c.DefID); {
	case err != nil:
		return nil, err
	case !reached:
		return nil, NoCase(id)
	}
	return c, nil
}

// CaseOfTask returns the latest case of a task, or NotFound.
func (e *Room) CaseOfTask(ctx context.Context, id task.ID) (*task.Case, error) {
	c, err := e.CaseReader.LastCase(ctx, id)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if _, err := e.FindTask(ctx, id); err != nil {
			return nil, err
		}
		return nil, task.Errorf(task.NotFound, "the task %s has no case", id)
	}
	switch reached, err := e.Reaches(ctx, c.DefID); {
	case err != nil:
		return nil, err
	case !reached:
		return nil, kernel.NoTask(id)
	}
	return c, nil
}

// Cases returns a page, newest first, which ends early at Limits.PageBytes. Invalid: a limit outside of 1 to
// Limits.PageItems, or an offset beyond the bounds of package check.
func (e *Room) Cases(ctx context.Context, f kernel.CaseFilter) ([]*task.Case, error) {
	if err := check.Page(f.Limit, f.Offset, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	f.Bytes = e.Cfg.Limits.PageBytes
	return e.CaseReader.ListCases(ctx, f)
}

// CountCases counts cases by reason and resolution.
func (e *Room) CountCases(ctx context.Context, f kernel.CaseFilter) ([]kernel.CaseCount, error) {
	return e.CaseCounter.CountCases(ctx, f)
}

// Audit returns acts of operators, newest first. Invalid: a limit outside of 1 to Limits.PageItems. The page ends
// early at Limits.PageBytes; continue below the last record.
func (e *Room) Audit(ctx context.Context, f kernel.ActFilter) ([]task.Act, error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	f.Bytes = e.Cfg.Limits.PageBytes
	return e.ActStore.ListActs(ctx, f)
}

func reachedCase(u *kernel.Unit, id task.ID) (*task.Task, *task.Case, error) {
	t, c, err := CaseSlot.Of(u).load(id)
	if err != nil {
		return nil, nil, err
	}
	switch reached, err := u.Reaches(t.DefID); {
	case err != nil:
		return nil, nil, err
	case !reached:
		return nil, nil, NoCase(id)
	}
	return t, c, nil
}

package tasks

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/operate"
)

func here(id uuid.UUID) string { return "/tasks/" + id.String() }

func (p *pages) cancel(r *page.Request) (page.Done, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Done{}, err
	}
	receipts, err := p.api.CancelTasks(r.Context(), tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, CancelledBy: r.Name,
		Reason: r.Form("reason"), ExpectedState: r.Form("expected")})
	if err == nil && receipts[0].Error != nil {
		err = receipts[0].Error
	}
	return page.Done{To: here(id), Say: "The task is cancelled. No step of it starts any more."}, err
}

func (p *pages) replay(r *page.Request) (page.Done, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Done{}, err
	}
	got, err := p.cases.ReplayTask(r.Context(), id, operate.ReplayRequest{ResetRetryCount: r.Form("reset") != "",
		Reason: r.Form("reason"), ReplayedBy: r.Name, ExpectedState: r.Form("expected")})
	if err != nil {
		return page.Done{}, err
	}
	return page.Done{To: here(id), Say: page.Plural(got.ReplayedSteps, "failed step") + " runs again."}, nil
}

// editContext runs the failed steps again unless the form opts out.
func (p *pages) editContext(r *page.Request) (page.Done, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Done{}, err
	}
	version, err := r.FormInt("version")
	if err != nil {
		return page.Done{}, err
	}
	text := strings.TrimSpace(r.FormRaw("context"))
	if !json.Valid([]byte(text)) {
		return page.Done{}, page.BadField("context", "must be JSON: "+page.Fault(text))
	}
	got, err := p.api.EditContext(r.Context(), id, tasker.EditContextRequest{Context: json.RawMessage(text),
		Reason: r.Form("reason"), EditedBy: actor(r), ExpectedVersion: &version, NoRetry: r.Form("retry") == "",
		ResetRetryCount: r.Form("reset") != ""})
	if err != nil {
		return page.Done{}, err
	}
	say := "The context is changed."
	switch {
	case !got.Changed:
		say = "The context was like this already."
	case got.ReplayedSteps > 0:
		say += " " + page.Plural(got.ReplayedSteps, "failed step") + " runs again."
	}
	return page.Done{To: here(id), Say: say}, nil
}

// actor returns the recorded name where one is required.
func actor(r *page.Request) string {
	if r.Name != "" || r.Viewer != nil {
		return r.Name // the default is the key's name
	}
	return "anonymous"
}

func (p *pages) actOnStep(r *page.Request) (page.Done, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Done{}, err
	}
	step, err := r.UUID("step")
	if err != nil {
		return page.Done{}, err
	}
	act := tasker.StepAction{ActionType: r.Form("act"), Reason: r.Form("reason"), ExpectedState: r.Form("expected"),
		IfMatch: r.Form("etag")}
	say := "runs again"
	switch act.ActionType {
	case "reset_for_retry":
		act.ResetBy, act.DiscardCheckpoint = actor(r), r.Form("discard_checkpoint") != ""
	case "resolve_manually":
		act.ResolvedBy, say = actor(r), "counts as done; its result stays empty"
	case tasker.Approve:
		act.DecidedBy, say = actor(r), "is approved"
	case tasker.Reject:
		act.DecidedBy, say = actor(r), "is rejected"
	case "complete_manually":
		text := strings.TrimSpace(r.FormRaw("result"))
		if !json.Valid([]byte(text)) {
			return page.Done{}, page.BadField("result", "must be JSON: "+page.Fault(text))
		}
		act.CompletedBy, say = actor(r), "is complete with the result that you gave"
		act.CompletionData = &tasker.CompletionData{Result: json.RawMessage(text)}
	}
	got, err := p.api.ActOnStep(r.Context(), id, step, act)
	if err != nil {
		return page.Done{}, err
	}
	return page.Done{To: here(id), Say: "Step " + got.Name + " " + say + "."}, nil
}

func (p *pages) taskOfCase(w http.ResponseWriter, r *page.Request) error {
	id, err := r.UUID("case")
	if err != nil {
		return err
	}
	got, err := p.cases.Cases(r.Context(), operate.CaseFilter{CaseUUIDs: []uuid.UUID{id}})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return tasker.Errorf(tasker.CodeNotFound, "there is no case %s", id)
	}
	r.Redirect(w, here(got[0].TaskUUID))
	return nil
}

// changeCase adds a note, resolves, reopens, or opens a new case.
func (p *pages) changeCase(r *page.Request) (page.Done, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Done{}, err
	}
	if r.Form("act") == "open" {
		_, err := p.cases.OpenCase(r.Context(), id, operate.OpenCaseRequest{Reason: r.Form("note"), OpenedBy: actor(r)})
		return page.Done{To: here(id), Say: "A case is open. It records what is found out about this task."}, err
	}
	of, err := uuid.Parse(r.Form("case"))
	if err != nil {
		return page.Done{}, page.BadField("case", "must be a UUID")
	}
	update := operate.CaseUpdate{ResolvedBy: actor(r), ExpectedState: r.Form("expected"), IfMatch: r.Form("etag")}
	if note := strings.TrimSpace(r.FormRaw("note")); note != "" {
		update.ResolutionNotes = &note
	}
	say := "The note is added."
	switch r.Form("act") {
	case "note":
	case "reopen":
		update.Reopen, say = true, "The case is open again."
	default:
		update.ResolutionStatus = tasker.CaseResolution(r.Form("act"))
		say = "The case is closed as " + strings.ReplaceAll(r.Form("act"), "_", " ") + "."
	}
	_, err = p.cases.UpdateCase(r.Context(), of, update)
	return page.Done{To: here(id), Say: say}, err
}

func (p *pages) previewContext(r *page.Request) (page.Changes, error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return page.Changes{}, err
	}
	t, err := p.api.Task(r.Context(), id, 0)
	if err != nil {
		return page.Changes{}, err
	}
	return page.ChangesOf(t.Context, strings.TrimSpace(r.FormRaw("context"))), nil
}

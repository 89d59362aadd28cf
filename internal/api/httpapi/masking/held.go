package masking

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/schedules"
)

// RefuseContext refuses a new context of a task, or a merge patch, that has the mask at a sensitive pointer: it was
// made from a masked context and would overwrite the hidden value. at is the place of the document in the request.
func (m *Masker) RefuseContext(ctx context.Context, task uuid.UUID, at string, document json.RawMessage) error {
	return m.refuse(ctx, task, at, document, (*sensitive.Set).Held)
}

// RefuseScheduled is RefuseContext for a schedule and its template.
func (m *Masker) RefuseScheduled(ctx context.Context, of *schedules.Spec) error {
	if len(of.Context) == 0 {
		return nil
	}
	p := &pass{ctx: ctx, rules: m.rules, known: map[any]*subject{}}
	about, err := p.scheduled(of)
	if err != nil || about == all { // the operation itself refuses a missing object
		return err
	}
	return refusal("/context", about.set.Held(of.Context))
}

// RefuseResult is RefuseContext for the result of a step.
func (m *Masker) RefuseResult(ctx context.Context, task uuid.UUID, at string, document json.RawMessage) error {
	return m.refuse(ctx, task, at, document, (*sensitive.Set).HeldAnywhere)
}

func (m *Masker) refuse(ctx context.Context, task uuid.UUID, at string, document json.RawMessage,
	held func(*sensitive.Set, []byte) []string,
) error {
	if len(document) == 0 {
		return nil
	}
	p := &pass{ctx: ctx, rules: m.rules, known: map[any]*subject{}}
	about, err := p.task(task)
	if err != nil || about == all { // the operation itself refuses a missing object
		return err
	}
	return refusal(at, held(about.set, document))
}

func refusal(at string, pointers []string) error {
	if len(pointers) == 0 {
		return nil
	}
	e := &tasker.Error{Code: tasker.CodeInvalid, Message: "nothing was changed: a sensitive value is masked",
		Hint: "leave the value out of a merge patch, or read it with sensitive=show"}
	for _, pointer := range pointers {
		e.Details = append(e.Details, tasker.Detail{Location: at + pointer,
			Message: "is " + sensitive.Mask + ", which stands instead of the value"})
	}
	return &web.StatusError{Status: http.StatusUnprocessableEntity, Err: e}
}

// RefuseEdit refuses an edit of a letter that has the mask as a sensitive value and, from a key that may not see
// sensitive values, one that compares, copies or moves them. at is the place of the edit in the request.
func (m *Masker) RefuseEdit(ctx context.Context, letter uuid.UUID, at string, edit *deadletters.Edit) error {
	p := &pass{ctx: ctx, rules: m.rules, known: map[any]*subject{}}
	about, err := p.once(letter, func() (sensitive.Rule, error) { return m.rules.OfLetter(ctx, letter) })
	if err != nil || about == all { // the operation itself refuses a missing object
		return err
	}
	return about.refuseEdit(ctx, at, edit)
}

// RefuseRedrive is RefuseEdit for the edit of many letters and cases.
func (m *Masker) RefuseRedrive(ctx context.Context, namespace string, r *deadletters.RedriveRequest) error {
	if r.Edit == nil {
		return nil
	}
	p := &pass{ctx: ctx, rules: m.rules, known: map[any]*subject{}}
	about, err := p.redrive(&deadletters.Redrive{Namespace: namespace, Selection: r.Selection, Edit: r.Edit})
	if err != nil {
		return err
	}
	return about.refuseEdit(ctx, "/edit", r.Edit)
}

func (s *subject) refuseEdit(ctx context.Context, at string, edit *deadletters.Edit) error {
	held := s.set.HeldPatch(edit.Patch)
	for i := range held {
		held[i] = "/patch" + held[i]
	}
	for i, h := range edit.SetHeaders {
		if h.Value == sensitive.Mask && s.headers[strings.ToLower(h.Name)] {
			held = append(held, "/set_headers/"+strconv.Itoa(i))
		}
	}
	if err := refusal(at, held); err != nil {
		return err
	}
	if p := access.From(ctx); p == nil || p.Can(access.Sensitive) {
		return nil
	}
	if reads := s.set.Reads(edit.Patch); len(reads) > 0 {
		return &tasker.Error{Code: tasker.CodeForbidden, Message: "the patch reads what the key may not see",
			Hint:    "to compare, copy or move sensitive values needs the permission " + string(access.Sensitive),
			Details: []tasker.Detail{{Location: at + "/patch" + reads[0], Message: "is sensitive"}}}
	}
	return nil
}

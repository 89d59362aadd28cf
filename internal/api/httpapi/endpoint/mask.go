package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Mask hides sensitive values in answers.
type Mask interface {
	Carries(answer reflect.Type) bool
	// Mask may change the answer in place.
	Mask(ctx context.Context, answer any) (any, error)
	// NoteLook records that the key of ctx sees sensitive values in the object of a path. body is the answer, nil for a
	// stream.
	NoteLook(ctx context.Context, operation, path string, body any) error
}

type shownKey struct{}

const sensitiveDoc = "show: values that templates and sources mark as sensitive, in clear text. Needs the permission " +
	"sensitive as well; the audit trail records it. By default they are \"[masked]\"."

func sensitiveParameter() *huma.Param {
	return &huma.Param{Name: "sensitive", In: "query", Description: sensitiveDoc,
		Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"show"}}}
}

// shows reports whether an operation has the parameter: it reads answers that may hold sensitive values.
func (e Endpoint) shows(answer reflect.Type, m Mask) bool {
	return e.method == http.MethodGet && len(e.needs) > 0 && m != nil && m.Carries(answer)
}

// asks removes the parameter from a query and marks the context if the request may see clear text.
func asks(ctx context.Context, p *access.Principal, u *url.URL) (context.Context, error) {
	values := u.Query()
	if !values.Has("sensitive") {
		return ctx, nil
	}
	if values.Get("sensitive") != "show" {
		return nil, BadParameter("query.sensitive", "must be show, or be left out")
	}
	if p != nil && !p.Can(access.Sensitive) {
		return nil, &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + p.Name + " lacks the permission",
			Hint: "to show what is sensitive needs the permission " + string(access.Sensitive)}
	}
	values.Del("sensitive")
	u.RawQuery = values.Encode()
	return context.WithValue(ctx, shownKey{}, true), nil
}

// Shown reports whether the request of ctx asks for clear text and may see it.
func Shown(ctx context.Context) bool {
	shown, _ := ctx.Value(shownKey{}).(bool)
	return shown
}

// Screen returns an answer as the key of ctx may see it: masked, or in clear text, after recording the look. A server
// without keys masks nothing.
func (a *API) Screen(ctx context.Context, e Endpoint, path string, body any) (any, error) {
	switch {
	case a.mask == nil || len(e.needs) == 0:
		return body, nil
	case Shown(ctx):
		return body, a.mask.NoteLook(ctx, e.id, path, body)
	case access.From(ctx) == nil:
		return body, nil
	}
	return a.mask.Mask(ctx, body)
}

// Hide is Screen for one value of a stream; NoteStream records the look at its start.
func (a *API) Hide(ctx context.Context, body any) (any, error) {
	if a.mask == nil || Shown(ctx) || access.From(ctx) == nil {
		return body, nil
	}
	return a.mask.Mask(ctx, body)
}

// NoteStream records that a stream shows clear text, if requested.
func (a *API) NoteStream(ctx context.Context, operation, path string) error {
	if a.mask == nil || !Shown(ctx) {
		return nil
	}
	return a.mask.NoteLook(ctx, operation, path, nil)
}

package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The new name avoids a clash of the method Context with an embedded field Context.
type humaContext huma.Context

type request struct {
	humaContext
	ctx context.Context
}

func (r *request) Context() context.Context { return r.ctx }

func (r *request) Unwrap() huma.Context { return r.humaContext }

func (r *request) SetStatus(status int) {
	if status == http.StatusUnprocessableEntity {
		status = web.StatusOf(tasker.CodeInvalid)
	}
	r.humaContext.SetStatus(status)
}

// guard checks, before it reads or parses anything, whether a request may use an operation; then it reads the body. The
// order matters: a caller without a key learns nothing from faults of its parameters, and an unauthenticated body is
// never read. Older names are replaced last, when values are well formed.
func (a *API) guard(e Endpoint, body *bodyReader, shows bool) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		if e.is(KeyInQuery) {
			keyFromQuery(r)
		}
		principal, err := a.front.Admit(w, r, e.needs)
		if err != nil {
			a.Refuse(hc, err)
			return
		}
		ctx := r.Context()
		if principal != nil {
			ctx = access.With(ctx, principal)
		}
		err = wellFormed(r)
		if err == nil {
			err = a.filled(e, r.URL)
		}
		if err == nil {
			a.plainIntegers(e, r.URL)
		}
		if err != nil {
			a.Refuse(hc, err)
			return
		}
		if err := a.renameOlder(e.path, r.URL); err != nil {
			a.Refuse(hc, err)
			return
		}
		if err := a.once(e, r.URL); err != nil {
			a.Refuse(hc, err)
			return
		}
		if shows {
			if ctx, err = asks(ctx, principal, r.URL); err != nil {
				a.Refuse(hc, err)
				return
			}
		}
		if body != nil {
			v, err := body.read(w, r)
			if err != nil {
				a.Refuse(hc, err)
				return
			}
			ctx = context.WithValue(ctx, bodyKey{}, v)
		}
		next(&request{hc, ctx})
	}
}

// keyFromQuery moves the parameter api_key into a header, unless a header has a key.
func keyFromQuery(r *http.Request) {
	if !strings.Contains(r.URL.RawQuery, "api_key") {
		return
	}
	values := r.URL.Query()
	if key := values.Get("api_key"); key != "" && r.Header.Get("X-API-Key") == "" {
		r.Header.Set("X-API-Key", key)
	}
	values.Del("api_key")
	r.URL.RawQuery = values.Encode()
}

type bodyKey struct{}

func bodyFrom(ctx context.Context) any { return ctx.Value(bodyKey{}) }

// readHeaders are the headers whose values operations search for or store. net/http refuses control characters in
// headers, except tabs, but accepts invalid UTF-8.
var readHeaders = []string{"Last-Event-Id", "If-Match"}

var prose = map[string]bool{"reason": true, "error_message": true}

// wellFormed refuses control characters or invalid UTF-8 in path, headers or query, and a malformed query.
func wellFormed(r *http.Request) error {
	if fault := task.CharacterFault(r.URL.Path, false); fault != "" {
		return tasker.Errorf(tasker.CodeInvalid, "the path %s", fault)
	}
	for _, name := range readHeaders {
		for _, value := range r.Header[name] {
			if fault := task.CharacterFault(value, false); fault != "" {
				return BadParameter("header."+name, fault)
			}
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return tasker.Errorf(tasker.CodeInvalid, "the query cannot be read: %v", err)
	}
	for name, list := range values {
		if fault := task.CharacterFault(name, false); fault != "" {
			return tasker.Errorf(tasker.CodeInvalid, "the name of a parameter %s", fault)
		}
		for _, value := range list {
			if fault := task.CharacterFault(value, prose[name]); fault != "" {
				return BadParameter("query."+name, fault)
			}
		}
	}
	return nil
}

// filled refuses an empty value of a parameter that is not text: ?before= differs from no bound.
func (a *API) filled(e Endpoint, u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	values := u.Query()
	for _, name := range a.typed[e.id] {
		if values.Has(name) && values.Get(name) == "" {
			return BadParameter("query."+name, "must not be empty: give a value, or leave the parameter out")
		}
	}
	return nil
}

// once refuses a repeated parameter that has one value: an ignored filter would show, or select, more than requested.
func (a *API) once(e Endpoint, u *url.URL) error {
	if strings.Count(u.RawQuery, "=") < 2 {
		return nil
	}
	for name, values := range u.Query() {
		if len(values) > 1 && !slices.Contains(a.lists[e.id], name) {
			return BadParameter("query."+name, "is given several times: give it once")
		}
	}
	return nil
}

// plainIntegers writes integers of the query in plain digits: 59.0 is an integer, as in a body.
func (a *API) plainIntegers(e Endpoint, u *url.URL) {
	if !strings.ContainsAny(u.RawQuery, ".eE") {
		return
	}
	values, changed := u.Query(), false
	for _, name := range a.integers[e.id] {
		if was := values.Get(name); was != "" {
			if plain := task.PlainInteger(was); plain != "" && plain != was {
				values.Set(name, plain)
				changed = true
			}
		}
	}
	if changed {
		u.RawQuery = values.Encode()
	}
}

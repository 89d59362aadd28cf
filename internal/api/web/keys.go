package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

func (f *Front) authenticate(p Policy, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, err := f.Admit(w, r, p.Needs)
		if err == nil && p.AllNamespaces != "" && principal.Limited() {
			err = &tasker.Error{Code: tasker.CodeForbidden,
				Message: "the key " + principal.Name + " is limited to some namespaces",
				Hint:    p.AllNamespaces + " are about all of them; use a key that is not limited"}
		}
		if err != nil {
			f.Refuse(w, r, r.Pattern, err)
			return
		}
		if principal == nil {
			next.ServeHTTP(w, r)
			return
		}
		under(access.With(r.Context(), principal), w, r, next)
	})
}

// Admit returns the principal of a request, or nil if no permission is needed or there are no keys. It records the key
// for the log line. A caller in this process that authenticated its user, such as the dashboard, puts the principal
// into the context; then no secret is needed. Errors: CodeUnauthenticated, CodeForbidden.
func (f *Front) Admit(w http.ResponseWriter, r *http.Request, needs []access.Permission) (*access.Principal, error) {
	if len(needs) == 0 || f.keys.Open() {
		return nil, nil
	}
	principal, err := f.identify(r)
	if err != nil {
		return nil, err
	}
	if !principal.Can(needs...) {
		return nil, &tasker.Error{Code: tasker.CodeForbidden,
			Message: "the key " + principal.Name + " lacks the permission", Hint: "the request needs " + orList(needs)}
	}
	noteKey(w, principal.Name)
	return principal, nil
}

func (f *Front) identify(r *http.Request) (*access.Principal, error) {
	if p := access.From(r.Context()); p != nil {
		return p, nil
	}
	secret := secretOf(r.Header)
	if secret == "" {
		return nil, &tasker.Error{Code: tasker.CodeUnauthenticated, Message: "an API key is required",
			Hint: "send it as X-API-Key: tsk_... or as Authorization: Bearer tsk_..."}
	}
	principal := f.keys.Authenticate(secret)
	if principal == nil {
		return nil, tasker.Errorf(tasker.CodeUnauthenticated, "the API key is unknown")
	}
	f.noteKeyUse(r.Context(), principal, time.Now())
	return principal, nil
}

func orList(needs []access.Permission) string {
	words := make([]string, len(needs))
	for i, need := range needs {
		words[i] = string(need)
	}
	return strings.Join(words, " or ")
}

// secretOf: X-API-Key takes precedence over Authorization, which a proxy may use.
func secretOf(h http.Header) string {
	if key := h.Get("X-API-Key"); key != "" {
		return key
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

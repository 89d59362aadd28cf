package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Request is a request for a page or an act, with a checked session.
type Request struct {
	http *http.Request
	// nil on a server without keys
	Viewer *access.Principal
	// Name is recorded with acts; "" for that of the key.
	Zone *time.Location
	Name string
	Now  time.Time

	query url.Values
}

// Context returns the context for calls of the API: it carries the viewer.
func (r *Request) Context() context.Context { return r.http.Context() }

// Showing reports whether the address requests sensitive values in clear text.
func (r *Request) Showing() bool { return r.Query("sensitive") == "show" }

// Reading returns the context for API calls that read payloads, in clear text if Showing; the API checks the
// permission, and records it.
func (r *Request) Reading() context.Context {
	if r.Showing() {
		return tasker.ShowSensitive(r.Context())
	}
	return r.Context()
}

// MayShow reports whether the page offers clear text. A server without keys masks nothing.
func (r *Request) MayShow() bool { return r.Viewer != nil && r.Can(access.Sensitive) }

// Path returns a part of the path: a wildcard of the page's pattern.
func (r *Request) Path(name string) string { return r.http.PathValue(name) }

// UUID returns a UUID in the path. Another text is not found.
func (r *Request) UUID(name string) (uuid.UUID, error) {
	text := r.Path(name)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return id, tasker.Errorf(tasker.CodeNotFound, "there is no page for this address: it has no valid UUID")
	}
	return id, nil
}

// Query returns a parameter of the query, "" for none.
func (r *Request) Query(name string) string { return r.query.Get(name) }

// QueryAll returns every value of a parameter.
func (r *Request) QueryAll(name string) []string { return r.query[name] }

// QueryTime returns a time in RFC 3339, or in the browser's form in the viewer's zone, such as 2026-11-24T10:04.
func (r *Request) QueryTime(name string) (*time.Time, error) {
	text := r.Query(name)
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, r.Zone); err == nil {
			return &t, nil
		}
	}
	return nil, BadField(name, "must be a time such as 2026-11-24T10:04")
}

// Form returns a field of a form, trimmed.
func (r *Request) Form(name string) string { return strings.TrimSpace(r.http.PostForm.Get(name)) }

// FormRaw returns a field with line feeds. Browsers send CR LF.
func (r *Request) FormRaw(name string) string {
	return strings.ReplaceAll(r.http.PostForm.Get(name), "\r\n", "\n")
}

// FormAll returns every value of a field.
func (r *Request) FormAll(name string) []string { return r.http.PostForm[name] }

// FormInt returns a whole number from a form, 0 for an empty field.
func (r *Request) FormInt(name string) (int, error) {
	text := r.Form(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, BadField(name, "must be a whole number")
	}
	return n, nil
}

// FormFloat returns a number from a form, 0 for an empty field.
func (r *Request) FormFloat(name string) (float64, error) {
	text := r.Form(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return 0, BadField(name, "must be a number")
	}
	return n, nil
}

// FormTime returns a time in the browser's form in the viewer's zone; nil for an empty field.
func (r *Request) FormTime(name string) (*time.Time, error) {
	text := r.Form(name)
	if text == "" {
		return nil, nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04", text, r.Zone)
	if err != nil {
		return nil, BadField(name, "must be a time such as 2026-11-24T10:04")
	}
	return &t, nil
}

// BadField is the refusal of a field of a form.
func BadField(name, message string) error {
	return &tasker.Error{Code: tasker.CodeInvalid, Message: strings.ReplaceAll(name, "_", " ") + " " + message,
		Details: []tasker.Detail{{Location: name, Message: message}}}
}

// Can reports whether the viewer has one of these permissions, for offers; the API decides about acts.
func (r *Request) Can(oneOf ...access.Permission) bool {
	return r.Viewer == nil || r.Viewer.Can(oneOf...)
}

// Namespace returns the namespace of a list: the address's, or "" for all. The API lists one namespace or all, so a key
// with several gets its first one.
func (r *Request) Namespace() string {
	if n := r.Query("namespace"); n != "" {
		return n
	}
	if all := r.Namespaces(); len(all) > 1 {
		return all[0]
	}
	return ""
}

// Namespaces returns the namespaces of a key that is limited to some, else none.
func (r *Request) Namespaces() []string { return r.Viewer.Namespaces() }

// URL returns the address with some parameters changed: names and values in turn. An empty value removes the parameter.
// The cursor is always removed: it belongs to the old parameters.
func (r *Request) URL(changes ...string) string {
	q := url.Values{}
	for name, values := range r.query {
		if name != "cursor" && name != "format" {
			q[name] = values
		}
	}
	for pair := range slices.Chunk(changes, 2) {
		if len(pair) < 2 || pair[1] == "" {
			q.Del(pair[0])
			continue
		}
		q.Set(pair[0], pair[1])
	}
	if len(q) == 0 {
		return r.http.URL.Path
	}
	return r.http.URL.Path + "?" + q.Encode()
}

// The cookies of a viewer's preferences, which are no secrets.
const (
	zoneCookie  = "tasker_zone"
	nameCookie  = "tasker_name"
	themeCookie = "tasker_theme"
)

// preference returns the value of a cookie; "" if it is missing, too long or not text.
func preference(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	value, err := url.QueryUnescape(c.Value)
	if err != nil || len(value) > 255 || !utf8.ValidString(value) || strings.ContainsFunc(value, isControl) {
		return ""
	}
	return value
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func (s *Site) request(r *http.Request, viewer *access.Principal) *Request {
	out := &Request{http: r, Viewer: viewer, Zone: time.UTC, Name: preference(r, nameCookie), Now: s.opts.Now(),
		query: r.URL.Query()}
	if name := preference(r, zoneCookie); name != "" && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			out.Zone = zone
		}
	}
	return out
}

// Redirect sends the viewer to another page.
func (r *Request) Redirect(w http.ResponseWriter, to string) {
	http.Redirect(w, r.http, to, http.StatusSeeOther)
}

// Back returns the page of the act, or the argument if unknown.
func (r *Request) Back(otherwise string) string {
	if current, err := url.Parse(r.http.Header.Get("HX-Current-URL")); err == nil && current.Host == r.http.Host {
		return inside(current.RequestURI())
	}
	if from := r.cameFrom(); from != "" {
		return from
	}
	return otherwise
}

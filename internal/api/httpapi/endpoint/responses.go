package endpoint

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

type refusal struct {
	status int
	name   string // of the component
	why    string
	header string // header of the answer, "" for none
	doc    string // of the header
}

const retryAfterDoc = "Seconds to wait before the next try."

// refusalKinds returns every status of a refusal. No operation lists 405: it answers a method without an operation.
func refusalKinds() []refusal {
	return []refusal{
		{http.StatusBadRequest, "Invalid", "The request is invalid; nothing was stored.", "", ""},
		{http.StatusUnauthorized, "Unauthenticated", "The API key is missing or unknown.", "WWW-Authenticate",
			"How to authenticate."},
		{http.StatusForbidden, "Forbidden", "The API key lacks the permission or does not reach the namespace, or the " +
			"request comes from a web page of another origin.", "", ""},
		{http.StatusNotFound, "NotFound", "The resource does not exist, or the API key has no access to it.", "", ""},
		{http.StatusRequestTimeout, "BodyTimeout", "The body did not arrive in time.", "Retry-After", retryAfterDoc},
		{http.StatusConflict, "Conflict", "The resource exists with different content or is in another state, or the lease " +
			"was lost.", "", ""},
		{http.StatusRequestEntityTooLarge, "TooLarge", "A body, payload, batch or page is over its limit.", "", ""},
		{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The operation does not accept this content type.", "", ""},
		{http.StatusUnprocessableEntity, "Masked", "The body has the mask instead of a sensitive value.", "", ""},
		{http.StatusTooManyRequests, "Exhausted", "A limit of the server is reached.", "Retry-After", retryAfterDoc},
		{http.StatusInternalServerError, "Internal",
			"An internal error. The log of the server has the details under the request ID.", "", ""},
		{http.StatusServiceUnavailable, "Unavailable",
			"The database does not answer, or the server is stopping or at its limit.", "Retry-After", retryAfterDoc},
	}
}

func (e Endpoint) refuses(status int, hasBody bool) bool {
	switch status {
	case http.StatusUnauthorized:
		return len(e.needs) > 0
	// Any parameter of the path may name a missing object.
	case http.StatusNotFound:
		return e.is(Finds) || strings.Contains(e.path, "{")
	case http.StatusRequestTimeout, http.StatusUnsupportedMediaType:
		return hasBody
	case http.StatusRequestEntityTooLarge:
		return hasBody || e.is(Limited)
	case http.StatusConflict:
		return e.is(Conflicts)
	case http.StatusUnprocessableEntity:
		return e.is(Unmasked)
	case http.StatusTooManyRequests:
		return e.is(Limited)
	// These two use neither database nor limits.
	case http.StatusServiceUnavailable:
		return e.id != "live" && e.id != "version"
	}
	return true
}

func refusalComponents(r huma.Registry) map[string]*huma.Response {
	out := map[string]*huma.Response{}
	for _, kind := range refusalKinds() {
		response := &huma.Response{Description: kind.why,
			Content: map[string]*huma.MediaType{web.ProblemType: {Schema: SchemaOf[web.Problem](r)}}}
		if kind.header != "" {
			response.Headers = map[string]*huma.Param{kind.header: {Description: kind.doc, Schema: headerSchema(kind.header)}}
		}
		out[kind.name] = response
	}
	return out
}

func headerSchema(header string) *huma.Schema {
	if header == "Retry-After" {
		return &huma.Schema{Type: huma.TypeInteger, Minimum: ptr(1.0)}
	}
	return &huma.Schema{Type: huma.TypeString}
}

func responsesOf[R any](a *API, e Endpoint, hasBody bool) map[string]*huma.Response {
	schema := SchemaOf[R](a.registry)
	statuses := []int{http.StatusOK}
	if e.is(Creates) {
		statuses = append(statuses, http.StatusCreated)
	}
	out := map[string]*huma.Response{}
	for _, kind := range refusalKinds() {
		if e.refuses(kind.status, hasBody) {
			out[strconv.Itoa(kind.status)] = &huma.Response{Ref: "#/components/responses/" + kind.name}
		}
	}
	for _, status := range statuses {
		response := &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{jsonType: {Schema: schema}},
		}
		response.Headers = map[string]*huma.Param{}
		if status == http.StatusCreated {
			response.Headers["Location"] = &huma.Param{
				Description: "URL of the new resource.", Schema: &huma.Schema{Type: huma.TypeString},
			}
		}
		if etagField[R]() != nil {
			response.Headers["ETag"] = etagHeader()
		}
		out[strconv.Itoa(status)] = response
	}
	return out
}

func describeNeeds(needs []access.Permission) string {
	switch len(needs) {
	case 0:
		return "Needs no key."
	case 1:
		return "Needs the permission " + string(needs[0]) + "."
	}
	return "Needs one of the permissions " + joinWords(needs) + "."
}

package endpoint

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
)

var routed = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (a *API) declare(e Endpoint) {
	a.hot[e.pattern()] = e.is(Hot)
	a.methods[e.path] = append(a.methods[e.path], e.method)
	// Notes of each query parameter whether empty text is a value, whether it is an integer, and whether it may repeat:
	// see filled, plainIntegers and once.
	for _, parameter := range operationOf(a.huma.OpenAPI().Paths[e.path], e.method).Parameters {
		schema := parameter.Schema
		notNull(schema)
		text := schema.Type == huma.TypeString && schema.Format == "" && len(schema.Enum) == 0
		if parameter.In == "query" && !text && schema.Type != huma.TypeArray {
			a.typed[e.id] = append(a.typed[e.id], parameter.Name)
		}
		if parameter.In == "query" && schema.Type == huma.TypeInteger {
			a.integers[e.id] = append(a.integers[e.id], parameter.Name)
		}
		if parameter.In == "query" && schema.Type == huma.TypeArray {
			a.lists[e.id] = append(a.lists[e.id], parameter.Name)
		}
	}
}

// guardLiterals keeps a literal path from matching a parameter of another: GET /internal/workers/register does not
// request a worker named register.
func (a *API) guardLiterals() {
	for path, methods := range a.methods {
		if strings.Contains(path, "{") {
			continue
		}
		for _, method := range routed {
			if !slices.Contains(methods, method) {
				a.mux.HandleFunc(method+" "+path, a.unknownRoute)
			}
		}
	}
}

func (a *API) methodsOf(r *http.Request) []string {
	declared, literal := a.methods[r.URL.Path]
	var allowed []string
	for _, method := range routed {
		if literal && !slices.Contains(declared, method) {
			continue
		}
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, pattern := a.mux.Handler(probe); pattern == "/" || pattern == "" {
			continue
		}
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return allowed
}

func (a *API) unknownRoute(w http.ResponseWriter, r *http.Request) {
	allowed := strings.Join(a.methodsOf(r), ", ")
	if allowed == "" {
		a.front.Refuse(w, r, "unknown route", &tasker.Error{Code: tasker.CodeNotFound,
			Message: "there is no such route", Hint: "GET /openapi.json lists all; GET /docs shows them"})
		return
	}
	w.Header().Set("Allow", allowed)
	a.front.Refuse(w, r, "unknown method", &web.StatusError{Status: http.StatusMethodNotAllowed,
		Err: tasker.Errorf(tasker.CodeInvalid, "the method is not allowed here; %s is", allowed)})
}
